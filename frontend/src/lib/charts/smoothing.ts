import type { Columns } from "./columns"

/**
 * Exponential moving average with bias correction (as Adam's), so that the first values are not pulled towards zero.
 * A column of n finite points with mean m counts as n points of value m; one without any stays NaN and does not enter.
 */
export function smooth({ mean, count, odd }: Columns, weight: number): number[] {
  let average = 0
  let mass = 0
  return mean.map((value, index) => {
    const finite = count[index]! - odd[index]!
    if (finite === 0) return NaN
    const kept = weight ** finite
    average = kept * average + (1 - kept) * value
    mass = kept * mass + (1 - kept)
    return average / mass
  })
}
