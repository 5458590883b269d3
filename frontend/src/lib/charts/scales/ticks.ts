const DECIMAL = [1, 2, 5, 10]
/** Seconds, for time: minutes, hours and days. */
const CLOCK = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200, 86_400]

/** Round places between both ends, at most so many, and their distance. */
export function ticksBetween(from: number, to: number, most: number, isTime: boolean): { places: number[]; step: number } {
  const least = (to - from) / most
  if (!(least > 0)) return { places: [], step: 1 }
  const power = 10 ** Math.floor(Math.log10(least))
  const decimal = power * DECIMAL.find((each) => each * power >= least * (1 - 1e-9))!
  const step = (isTime && decimal >= 1 ? CLOCK.find((each) => each >= least) : undefined) ?? decimal
  const first = Math.ceil(from / step - 1e-9)
  const count = Math.floor(to / step + 1e-9) - first + 1
  return { places: Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step), step }
}
