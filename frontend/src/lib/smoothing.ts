/**
 * Exponential moving average with bias correction (as Adam's), so that the first values are not pulled towards zero.
 * `weight` 0 returns the values as they are. Values that are not finite stay where they are and do not enter the average.
 */
export function smooth(values: readonly number[], weight: number): number[] {
  if (weight <= 0) return [...values]
  let average = 0
  let mass = 0
  return values.map((value) => {
    if (!Number.isFinite(value)) return value
    average = weight * average + (1 - weight) * value
    mass = weight * mass + (1 - weight)
    return average / mass
  })
}
