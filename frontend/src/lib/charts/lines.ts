import type { AxisView, Range } from "./axes"
import type { DataLine } from "./chartData"
import { after, extent, odd, points, type Columns } from "./columns"
import { smooth } from "./smoothing"

/** A value that a line is to reach. */
export interface Threshold {
  value: number
  label: string
}

/** A line as it is drawn. */
export interface ChartLine {
  label: string
  /** Into the palette: colour and dash. */
  index: number
  columns: Columns
  /** Mean of each column; NaN: a gap. */
  means: readonly number[]
  /** True if `means` differ from the columns, which then lie faintly behind them. */
  averaged: boolean
  /** Lows and highs are a band around the line, not values that it had. */
  spread: boolean
  total: number
  /** Points in the columns whose value is not finite. */
  odd: number
  latest: number | null
}

/** Points to a column, in the mean, from which on their extents alone would hide where the line runs. */
const DENSE = 2

export function toLines(all: readonly DataLine[], smoothing: number): ChartLine[] {
  const labels = lineLabels(all)
  return all.map(({ columns, total, latest, label, index, spread = false }, position) => ({
    label: label ?? labels[position]!,
    index: index ?? paletteIndex(all, position),
    columns,
    means: smoothing > 0 ? smooth(columns, smoothing) : columns.mean,
    spread,
    averaged: spread || smoothing > 0 || points(columns) >= DENSE * columns.x.length,
    total,
    odd: odd(columns),
    latest,
  }))
}

type Named = Pick<DataLine, "source" | "rank">

/** "worker 0"; with the shard that measured where several did; the source where it is about no worker, such as "worker 0, peer 1". */
export function lineLabels(all: readonly Named[]): string[] {
  return all.map(({ source, rank }) => {
    if (rank < 0) return source.replace("-", " ").replace("/", ", peer ")
    const several = all.some((other) => other.rank === rank && other.source !== source)
    return several ? `worker ${rank}, by ${source.replace("-", " ")}` : `worker ${rank}`
  })
}

/** A worker has the same colour in every chart, unless several sources speak about it. */
export function paletteIndex(all: readonly Named[], position: number): number {
  const ranks = new Set(all.map(({ rank }) => rank))
  const { rank } = all[position]!
  return ranks.size === all.length && rank >= 0 ? rank : position
}

/** From the first point of all lines to the last, in the units of the server. */
export function reach(lines: readonly { columns: Columns }[]): [from: number, to: number] | null {
  const drawn = lines.map(({ columns: { x } }) => x).filter((x) => x.length > 0)
  return drawn.length === 0 ? null : [Math.min(...drawn.map((x) => x[0]!)), Math.max(...drawn.map((x) => x[x.length - 1]!))]
}

export type Scale = "linear" | "log" | "symlog"

/** The value of the last point between both ends, or of the last of all; null without any that is finite. */
export function lastOf({ columns: { x, last }, latest }: Pick<ChartLine, "columns" | "latest">, range: Range | null): number | null {
  if (!range) return latest
  for (let index = x.length - 1; index >= 0 && x[index]! >= range.from; index--) {
    if (x[index]! <= range.to && Number.isFinite(last[index])) return last[index]!
  }
  return null
}

/** True if no line has a point there. */
export function isEmptyIn(lines: readonly { columns: Columns }[], { from, to }: Range): boolean {
  return !lines.some(({ columns: { x } }) => x[after(x, from)]! <= to)
}

/** The values between `from` and `to`, with the threshold in sight; on a logarithmic scale those above 0. */
export function span(lines: readonly { columns: Columns }[], from: number, to: number, scale: Scale, threshold: Threshold | null): [number, number] | null {
  const extents = lines.map(({ columns }) => extent(scale === "log" ? positive(columns) : columns, from, to)).filter((found) => found !== null)
  if (extents.length === 0) return null
  const sight = threshold ? [threshold.value] : []
  return [Math.min(...extents.map(([low]) => low), ...sight), Math.max(...extents.map(([, high]) => high), ...sight)]
}

/** Where a column reaches to zero or below, what lies above begins at its lesser end that does not. */
function positive(columns: Columns): Columns {
  const { low, first, last, high } = columns
  return { ...columns, low: low.map((value, i) => (value > 0 ? value : Math.min(...[first[i]!, last[i]!, high[i]!].filter((other) => other > 0)))) }
}

/** The part of lines that does not change while their points do. */
export function shapeOf(lines: readonly ChartLine[]): string {
  return lines.map(({ label, index }) => `${label} ${index}`).join("\n")
}

/** The times between neighbours from which on nothing was measured, rather than little: on the axis of time only. */
export function gapOf({ wire }: AxisView, { x }: Columns): number {
  if (wire !== "time" || x.length < 8) return Infinity
  const steps = x.slice(1).map((value, index) => value - x[index]!)
  return Math.max(20 * steps.sort((a, b) => a - b)[steps.length >> 1]!, (x[x.length - 1]! - x[0]!) / 50)
}
