import type { ChartAnswer } from "@/lib/charts/chartData"
import { columnAt, compact, emptyColumns, insert, type Columns } from "@/lib/charts/columns"
import type { MetricSummary } from "./runs"

/** A line as it is drawn: ascending in x. NaN: not finite, or nothing there. */
export interface Curve {
  x: readonly number[]
  y: readonly number[]
}

/** The lines of one job as one: what its workers measured in the same of `width` slices becomes one column, weighted by points. */
export function together(all: readonly Columns[], width: number): Columns {
  if (all.length === 1) return all[0]!
  const sorted = all.flatMap((columns) => columns.x.map((_, index) => columnAt(columns, index))).sort((a, b) => a.x - b.x)
  const joined = emptyColumns()
  for (const column of sorted) insert(joined, column)
  return compact(joined, width)
}

/** The last value, as lists and pages of jobs say it: the mean of the last ones of all workers, where several have measured. */
export function latestOf(series: ChartAnswer["series"]): number | null {
  const last = new Map<string, number>()
  for (const { source, rank, columns } of series.toSorted((a, b) => a.attempt - b.attempt)) {
    const value = columns.last.findLast((value) => value !== null)
    if (value != null) last.set(`${source} ${rank}`, value)
  }
  return last.size === 0 ? null : [...last.values()].reduce((sum, value) => sum + value, 0) / last.size
}

/** The last, the lowest and the highest of all finite values. */
export function summaryOf(series: ChartAnswer["series"]): MetricSummary {
  const lows = series.flatMap(({ columns }) => columns.low.filter((value) => value !== null))
  const highs = series.flatMap(({ columns }) => columns.high.filter((value) => value !== null))
  const least = lows.reduce((a, b) => Math.min(a, b), Infinity)
  const greatest = highs.reduce((a, b) => Math.max(a, b), -Infinity)
  return { last: latestOf(series), low: least < Infinity ? least : null, high: greatest > -Infinity ? greatest : null }
}

/** Evenly spaced from the least to the greatest x of all curves; empty if they have none. */
export function commonGrid(curves: readonly Curve[], points: number): number[] {
  const [from, to] = curves.reduce(([low, high], { x }) => [Math.min(low, x[0] ?? low), Math.max(high, x.at(-1) ?? high)], [Infinity, -Infinity])
  if (!(from <= to)) return []
  if (from === to) return [from]
  return Array.from({ length: points }, (_, index) => from + ((to - from) * index) / (points - 1))
}

/** Values at the places of a grid, on straight lines between what was measured; NaN before the first and after the last of it. */
export function onGrid({ x, y }: Curve, grid: readonly number[]): number[] {
  const known = x.flatMap((at, index) => (Number.isFinite(y[index]!) ? [[at, y[index]!] as const] : []))
  let next = 0
  return grid.map((at) => {
    while (next < known.length && known[next]![0] < at) next++
    const right = known[next]
    const left = known[next - 1]
    if (!right) return NaN
    if (right[0] === at) return right[1]
    if (!left) return NaN
    return left[1] + ((right[1] - left[1]) * (at - left[0])) / (right[0] - left[0])
  })
}

export type Spread = "range" | "deviation"

export interface Band {
  x: number[]
  mean: number[]
  low: number[]
  high: number[]
  /** Curves that reach there. */
  count: number[]
}

/**
 * Mean and spread of several curves at the places of a grid. Curves that have ended do not count any more, and places that
 * none reaches are left out. `deviation` is that of a sample: none where there is only one.
 */
export function bandOf(curves: readonly Curve[], grid: readonly number[], spread: Spread): Band {
  const rows = curves.map((curve) => onGrid(curve, grid))
  const band: Band = { x: [], mean: [], low: [], high: [], count: [] }
  grid.forEach((x, place) => {
    const values = rows.map((row) => row[place]!).filter(Number.isFinite)
    if (values.length === 0) return
    const mean = values.reduce((a, b) => a + b, 0) / values.length
    const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1))
    band.x.push(x)
    band.mean.push(mean)
    band.low.push(spread === "range" ? Math.min(...values) : mean - deviation)
    band.high.push(spread === "range" ? Math.max(...values) : mean + deviation)
    band.count.push(values.length)
  })
  return band
}
