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

const [SMALLEST, LARGEST] = [-32, 308]
/** Distances that ticks of a linear axis may have. Those that uPlot has itself end at 5e31, so that an axis of larger values has no ticks. */
export const TICK_STEPS = Array.from({ length: LARGEST - SMALLEST + 1 }, (_, index) => [1, 2, 2.5, 5].map((digits) => Number(`${digits}e${index + SMALLEST}`)))
  .flat()
  .filter(Number.isFinite)

interface Pixels {
  /** Distance of neighbouring powers of ten. */
  decade: number
  /** Least distance of two numbers. */
  space: number
}

/** Powers of ten between both ends, which are above 0, and their multiples; only some of the powers where they are closer than numbers may be. */
export function logTicks(low: number, high: number, pixels: Pixels): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.floor(Math.log10(high))]
  const every = everyPower(pixels)
  const digits = every > 1 ? [1] : [1, 2, 3, 4, 5, 6, 7, 8, 9]
  return Array.from({ length: last - first + 1 }, (_, index) => index + first)
    .filter((power) => power % every === 0)
    .flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
    .filter((place) => place >= low * (1 - 1e-9) && place <= high * (1 + 1e-9))
}

/** The same on both sides of 0, where nothing but 0 itself is closer to it than the threshold. */
export function symlogTicks(low: number, high: number, threshold: number, pixels: Pixels): number[] {
  const above = high > threshold ? logTicks(Math.max(threshold, low), high, pixels) : []
  const below = low < -threshold ? logTicks(Math.max(threshold, -high), -low, pixels) : []
  return [...below.reverse().map((place) => -place), ...(low <= 0 && high >= 0 ? [0] : []), ...above]
}

/** Each so many-th power of ten has a tick. */
function everyPower({ decade, space }: Pixels): number {
  return Math.max(1, Math.ceil(space / decade))
}

/** First digits of the ticks that get a number, and their narrowest gap, as a share of a factor of 10. */
const DIGITS: readonly (readonly [digits: string, gap: number])[] = [
  ["123456789", Math.log10(10 / 9)],
  ["12357", Math.log10(10 / 7)],
  ["125", Math.log10(10 / 5)],
]

/** The ticks of a logarithmic axis that get a number, null in place of the others. */
export function numbered(ticks: readonly number[], { decade, space }: Pixels): (number | null)[] {
  const digits = DIGITS.find(([, gap]) => gap * decade >= space)?.[0] ?? "1"
  return ticks.map((tick) => (tick === 0 || digits.includes(Math.abs(tick).toExponential()[0]!) ? tick : null))
}
