import type { Distribution } from "@/client"
import { ticksBetween } from "./scales/ticks"

export interface Histogram {
  /** Lower bounds of the bins, ascending, evenly spaced by `width`. */
  bins: number[]
  width: number
  /** One row of counts per group, same order as the groups given. */
  counts: number[][]
}

type Counted = Pick<Distribution, "low" | "width" | "bins"> & { series: readonly { counts: readonly number[] }[] }

/** The counts of the server, neighbouring bins taken together so that at most `most` are drawn: no value is lost or moved. */
export function histogram({ low, width, bins, series }: Counted, most = 24): Histogram {
  const together = Math.max(1, Math.ceil(bins / most))
  const length = Math.ceil(bins / together)
  return {
    bins: Array.from({ length }, (_, bin) => (low ?? 0) + bin * together * width),
    width: together * width,
    counts: series.map(({ counts }) => {
      const row = Array.from({ length }, () => 0)
      counts.forEach((count, bin) => (row[Math.floor(bin / together)]! += count))
      return row
    }),
  }
}

/** Values that a bin counts, in words: "6", or "6 to 7"; of what is measured and not counted, "6 ms to 8 ms". */
export function binName(low: number, width: number, format?: (value: number) => string): string {
  if (format) return `${format(low)} to ${format(low + width)}`
  return width === 1 ? String(low) : `${low} to ${low + width - 1}`
}

/** The same where many stand beside each other: "6", "6–8"; of what is measured, where the bin begins. */
export function binLabel(low: number, width: number, format?: (value: number) => string): string {
  if (format) return format(low)
  return width === 1 ? String(low) : `${low}–${low + width - 1}`
}

/** Height of a count, as a share of that of `top`. A logarithmic scale begins at half a count, so that a single one is seen. */
export function barShare(count: number, top: number, log: boolean): number {
  if (count <= 0) return 0
  return log ? Math.log(2 * count) / Math.log(2 * top) : count / top
}

/** Round counts from the bottom up, the last of which the highest bar does not exceed. */
export function countTicks(highest: number, log: boolean): number[] {
  if (log) return Array.from({ length: Math.max(2, Math.ceil(Math.log10(highest)) + 1) }, (_, power) => 10 ** power)
  const step = Math.max(1, ticksBetween(0, highest, 4, false).step)
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step)
}
