/** One measured value, as the API sends it: [step, samples, version, time, value]; a value that is not finite comes as null. */
export type WirePoint = readonly [step: number, samples: number, version: number, time: number, value: number | null]

export interface Point {
  step: number
  samples: number
  version: number
  /** Seconds since the epoch, clock of whoever measured. */
  time: number
  /** NaN where the measured value was not finite. */
  value: number
}

/** The values of one metric that one source measured about one worker (rank -1: about none). */
export interface Series {
  source: string
  rank: number
  points: readonly Point[]
}

export type Axis = "samples" | "step" | "version" | "time"

export function toPoint([step, samples, version, time, value]: WirePoint): Point {
  return { step, samples, version, time, value: value ?? NaN }
}

export function sameSeries(a: Series, b: Pick<Series, "source" | "rank">): boolean {
  return a.source === b.source && a.rank === b.rank
}

/** Adds points at the end of their series; a series not seen before is added in the order (rank, source). */
export function append(all: readonly Series[], source: string, rank: number, points: readonly Point[]): Series[] {
  const known = all.find((series) => sameSeries(series, { source, rank }))
  if (known) {
    return all.map((series) => (series === known ? { ...series, points: [...series.points, ...points] } : series))
  }
  return [...all, { source, rank, points }].sort(bySubject)
}

function bySubject(a: Series, b: Series): number {
  return a.rank - b.rank || a.source.localeCompare(b.source)
}

/** History read from the API, followed by those live points that are newer than it. */
export function mergeHistory(history: readonly Series[], live: readonly Series[]): Series[] {
  let merged = [...history]
  for (const { source, rank, points } of live) {
    const last = merged.find((series) => sameSeries(series, { source, rank }))?.points.at(-1)?.time ?? -Infinity
    const newer = points.filter((point) => point.time > last)
    if (newer.length > 0) merged = append(merged, source, rank, newer)
  }
  return merged.sort(bySubject)
}

/**
 * The points that count towards the model. A new attempt resumes from a cut: what came after the cut was undone, so on
 * an axis of training progress its points would lie over those of the new attempt. The axis of time keeps everything.
 */
export function effective(points: readonly Point[], axis: Axis): readonly Point[] {
  if (axis === "time") return points
  const kept: Point[] = []
  for (const point of points) {
    const last = kept.at(-1)
    if (last && point.step < last.step && point.samples < last.samples) {
      while (kept.length > 0 && kept[kept.length - 1]!.step >= point.step) kept.pop()
    }
    kept.push(point)
  }
  return kept
}

/** The latest finite value. */
export function latest(series: Series): number | null {
  return series.points.findLast((point) => Number.isFinite(point.value))?.value ?? null
}
