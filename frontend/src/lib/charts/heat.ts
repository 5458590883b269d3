import type { Range } from "./axes"
import type { DataLine } from "./chartData"

export interface Heat {
  /** Workers, ascending. */
  ranks: number[]
  from: number
  to: number
  slices: number
  /** By worker and slice; null where nothing was measured. */
  values: (number | null)[][]
  highest: number
}

/** Worker by slice of the range, each cell the mean or the highest of what was measured in it, by whichever source. */
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
  return { ranks, ...range, slices, values, highest: Math.max(0, ...values.flat().filter((value) => value !== null)) }
}

/** Range of the axis that slices stand for, from the first to the last. */
export function slicesRange({ from, to, slices }: Pick<Heat, "from" | "to" | "slices">, first: number, last = first): Range {
  const width = (to - from) / slices
  return { from: from + first * width, to: from + (last + 1) * width }
}
