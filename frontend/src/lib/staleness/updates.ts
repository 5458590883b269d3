import type { UpdateGroup } from "@/client"
import { ticksBetween } from "@/lib/charts/scales/ticks"
import { formatCount } from "@/lib/format"
import type { Binned } from "@/lib/media/media"

/** Groups go by the staleness of their pushes, or by the samples that the center had seen. */
export type GroupedBy = "staleness" | "samples"

const LOWEST_EXPONENT = -126
const ROUND = [1, 2, 5]
const TICKS = 6

/** The lower edge of a bin: two bins per octave, at 2^e and 1.5 * 2^e. Between two edges it rises evenly. */
export function magnitudeAt(bin: number): number {
  const octave = Math.floor(bin / 2)
  return 2 ** (octave + LOWEST_EXPONENT) * (1 + bin / 2 - octave)
}

/** The place of a magnitude among the bins: the inverse of `magnitudeAt`. */
export function binAt(magnitude: number): number {
  const exponent = Math.floor(Math.log2(magnitude))
  return 2 * (exponent - LOWEST_EXPONENT + magnitude / 2 ** exponent - 1)
}

/** Shares of all elements in each bin, a column for each group. Null: no element is finite and other than zero. */
export function magnitudeMap(groups: readonly UpdateGroup[]): Binned | null {
  const filled = groups.filter(({ counts }) => counts.length > 0)
  if (filled.length === 0) return null
  const low = Math.min(...filled.map(({ first }) => first))
  const high = Math.max(...filled.map(({ first, counts }) => first + counts.length))
  const shares = groups.map(({ first, counts, elements }) => Array.from({ length: high - low }, (_, row) => (counts[low + row - first] ?? 0) / elements))
  return { low, high, shares, highest: Math.max(...shares.flat()) }
}

/** Bins at which powers of ten lie, at most so many. */
export function decades({ low, high }: Binned): number[] {
  const [first, last] = [Math.ceil(Math.log10(magnitudeAt(low))), Math.floor(Math.log10(magnitudeAt(high)))]
  const every = Math.max(1, Math.ceil((last - first + 1) / TICKS))
  return Array.from({ length: Math.max(0, Math.floor((last - first) / every) + 1) }, (_, index) => binAt(10 ** (first + index * every)))
}

/** "3–4"; of samples, those at the group's beginning. */
export function groupTick({ low, high }: UpdateGroup, by: GroupedBy): string {
  return by === "samples" || low === high ? formatCount(low) : `${formatCount(low)}–${formatCount(high)}`
}

/** "Staleness 3 to 4", "1,200 to 2,400 samples". */
export function groupName({ low, high }: UpdateGroup, by: GroupedBy): string {
  const range = low === high ? formatCount(low) : `${formatCount(low)} to ${formatCount(high)}`
  return by === "staleness" ? `Staleness ${range}` : `${range} samples`
}

/** Norms on a logarithmic scale: 0 is the least, 1 the greatest. */
export interface NormScale {
  place: (norm: number) => number
  ticks: number[]
}

/** Null: no norm is other than zero. */
export function normScale(groups: readonly UpdateGroup[]): NormScale | null {
  const norms = groups.flatMap(({ norm }) => [norm.p10, norm.p50, norm.p90]).filter((norm) => norm > 0)
  if (norms.length === 0) return null
  const [least, greatest] = [Math.min(...norms), Math.max(...norms)]
  const [low, high] = least < greatest ? [least, greatest] : [least / 2, greatest * 2]
  const place = (norm: number) => Math.max(0, Math.log(norm / low) / Math.log(high / low))
  return { place, ticks: logTicks(low, high) }
}

function logTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))]
  const powers = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index))
  const round = (factors: readonly number[]) => powers.flatMap((power) => factors.map((factor) => factor * power)).filter((tick) => tick >= low && tick <= high)
  const [fine, coarse] = [round(ROUND), round([1])]
  if (fine.length < 2) return ticksBetween(low, high, TICKS, false).places
  if (fine.length <= TICKS) return fine
  return coarse.filter((_, index) => index % Math.ceil(coarse.length / TICKS) === 0)
}
