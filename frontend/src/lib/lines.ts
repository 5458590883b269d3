import { effective, type Axis, type Point, type Series } from "./series"
import { smooth } from "./smoothing"
import { thin } from "./thin"

export interface ChartLine {
  label: string
  /** Into the palette: colour and dash. */
  index: number
  xs: readonly number[]
  ys: readonly number[]
  /** Where `ys` is smoothed: what was measured, drawn faintly behind it. */
  raw?: readonly number[]
}

/** A value that a line is to reach. */
export interface Threshold {
  value: number
  label: string
}

/** Many times the pixels of a chart: thinning shows only when zoomed in far. */
const DRAWN_POINTS = 4000

/** Smoothing sees all points; only then they are thinned for drawing. `origin`: seconds since the epoch that the axis of time starts at. */
export function toLines(all: readonly Series[], axis: Axis, weight: number, origin: number): ChartLine[] {
  const labels = seriesLabels(all)
  return all.map((series, position) => {
    const points = [...effective(series.points, axis)].sort((a, b) => a[axis] - b[axis])
    const values = points.map((point) => point.value)
    const smoothed = weight > 0 ? smooth(values, weight) : values
    const drawn = thin(points.map((point, index) => ({ x: along(point, axis, origin), value: point.value, smoothed: smoothed[index]! })), DRAWN_POINTS)
    return {
      label: labels[position]!,
      index: paletteIndex(all, position),
      xs: drawn.map((point) => point.x),
      ys: drawn.map((point) => point.smoothed),
      ...(weight > 0 && { raw: drawn.map((point) => point.value) }),
    }
  })
}

function along(point: Point, axis: Axis, origin: number): number {
  return axis === "time" ? point.time - origin : point[axis]
}

/** "worker 0"; with the shard that measured where several did; the source where it is about no worker. */
export function seriesLabels(all: readonly Series[]): string[] {
  return all.map(({ source, rank }) => {
    if (rank < 0) return source.replace("-", " ")
    const several = all.some((other) => other.rank === rank && other.source !== source)
    return several ? `worker ${rank}, by ${source.replace("-", " ")}` : `worker ${rank}`
  })
}

/** A worker has the same colour in every chart, unless several sources speak about it. */
export function paletteIndex(all: readonly Series[], position: number): number {
  const ranks = new Set(all.map(({ rank }) => rank))
  const { rank } = all[position]!
  return ranks.size === all.length && rank >= 0 ? rank : position
}
