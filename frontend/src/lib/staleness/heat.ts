import type { Range } from "@/lib/charts/axes"
import type { DataLine } from "@/lib/charts/chartData"

export interface Heat {
  /** Workers, ascending. */
  ranks: number[]
  from: number
  to: number
  slices: number
  /** By worker and slice; null where nothing was measured. */
  values: (number | null)[][]
  /** As they are drawn: a slow worker's push in all cells of its time. */
  shown: (number | null)[][]
  highest: number
  /** The least value above 0, which the logarithmic scale sets apart from 0; 1 without any. */
  least: number
}

/** Worker by slice of the range, each cell the mean or the highest of the points in it, by whichever source. */
export function heatOf(lines: readonly DataLine[], range: Range, slices: number, what: "mean" | "high"): Heat {
  const ranks = [...new Set(lines.map(({ rank }) => rank))].filter((rank) => rank >= 0).sort((a, b) => a - b)
  const width = (range.to - range.from) / slices
  const values = ranks.map((rank) => {
    const cells = Array.from({ length: slices }, () => ({ sum: 0, count: 0, high: -Infinity }))
    for (const { columns } of lines.filter((line) => line.rank === rank)) {
      columns.x.forEach((x, index) => {
        const cell = cells[Math.min(slices - 1, Math.floor((x - range.from) / width))]
        const count = columns.count[index]! - columns.odd[index]!
        if (!cell || count === 0 || x > range.to) return
        cell.sum += columns.mean[index]! * count
        cell.count += count
        cell.high = Math.max(cell.high, columns.high[index]!)
      })
    }
    return cells.map(({ sum, count, high }) => (count === 0 ? null : what === "mean" ? sum / count : high))
  })
  const measured = values.flat().filter((value) => value !== null)
  const least = Math.min(...measured.filter((value) => value > 0))
  return { ranks, ...range, slices, values, shown: values.map(carried), highest: Math.max(0, ...measured), least: Number.isFinite(least) ? least : 1 }
}

/** From 0 for 0 to 1 for the highest, on a logarithmic scale. */
export function heatShare(value: number, { highest, least }: Pick<Heat, "highest" | "least">): number {
  return highest > 0 ? Math.log1p(value / least) / Math.log1p(highest / least) : 0
}

/** Value in the middle of the scale. */
export function middleOf({ highest, least }: Pick<Heat, "highest" | "least">): number {
  return least * (Math.sqrt(1 + highest / least) - 1)
}

/** A gap that is wider than so many usual distances of a worker's pushes is one: the worker was away. */
const USUAL = 3

/** A slow worker has pushed nothing in most slices, but worked on its next push: those cells show that push, too. Longer gaps stay. */
export function carried(cells: readonly (number | null)[]): (number | null)[] {
  const pushes = cells.flatMap((value, slice) => (value === null ? [] : [slice]))
  const gaps = pushes.slice(1).map((slice, before) => slice - pushes[before]!)
  const usual = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0
  const shown = [...cells]
  gaps.forEach((gap, before) => {
    if (gap <= USUAL * usual) shown.fill(cells[pushes[before + 1]!]!, pushes[before]! + 1, pushes[before + 1])
  })
  return shown
}

/** Range of the axis that slices stand for, from the first to the last. */
export function slicesRange({ from, to, slices }: Pick<Heat, "from" | "to" | "slices">, first: number, last = first): Range {
  const width = (to - from) / slices
  return { from: from + first * width, to: from + (last + 1) * width }
}
