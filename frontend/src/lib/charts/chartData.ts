import { subjectKey, type LiveMetrics, type LiveSeries, type Subject, type Tick, type WirePoint } from "@/lib/stream/live"
import { PLACE, type Range, type WireAxis } from "./axes"
import { compact, emptyColumns, FIELDS, fromWire, insert, join, type Column, type Columns, type WireColumns } from "./columns"

export interface ChartAnswer {
  series: readonly (Subject & { total: number; columns: WireColumns })[]
}

/** The question that the data answers. */
export interface ChartQuestion {
  axis: WireAxis
  /** null: all there is. */
  range: Range | null
  width: number
}

/** Points of one source about one worker, over all attempts. */
export interface DataLine {
  source: string
  rank: number
  /** Grow in place at their end. Any other change makes new ones, so that a chart that has drawn these draws the new points alone. */
  columns: Columns
  /** Points stored or told of, drawn or not. */
  total: number
  /** The latest finite value. */
  latest: number | null
  /** Its name and its place in the palette, where source and rank do not say it. */
  label?: string
  index?: number
  /** Its columns' lows and highs are the spread of several lines around their mean, not values of one. */
  spread?: boolean
}

/** Seconds. The stream tells of a job a few times a second. */
const LONG_TICK_S = 3
/** A gap of so many columns can be seen. */
const COARSE_COLUMNS = 2

/**
 * The columns of one chart: what the server answered, and what the stream has told since. Nothing is doubled: points are
 * counted by series on both sides, and only those beyond the answer's are added. Changes in place, with a new `version`.
 */
export class ChartData {
  lines: DataLine[] = []
  version = 0
  question: ChartQuestion | null = null
  private onBehind: (() => void) | null = null
  /** Points by series that are in the lines or known not to be wanted. */
  private readonly known = new Map<string, number>()
  private readonly listeners = new Set<() => void>()

  constructor(
    readonly name: string,
    private readonly live: LiveMetrics,
  ) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /**
   * Follows the stream until the returned function is called. `onBehind`: the stream has gone on beyond what is kept of it, or tells of a
   * long time at once, or an attempt began that may undo points, so the server has to be asked again.
   */
  readonly follow = (onBehind: () => void): (() => void) => {
    this.onBehind = onBehind
    this.catchUp()
    const stop = this.live.subscribe(this.name, () => this.catchUp())
    return () => {
      stop()
      this.onBehind = null
    }
  }

  answer({ series }: ChartAnswer, question: ChartQuestion): void {
    this.question = question
    this.lines = []
    this.known.clear()
    for (const { columns, total, ...subject } of series) {
      this.known.set(subjectKey(subject), total)
      const line = this.lineOf(subject)
      line.total += total
      line.columns = line.columns.x.length === 0 ? fromWire(columns) : merged(line.columns, fromWire(columns))
      line.latest = line.columns.last.findLast(Number.isFinite) ?? null
    }
    this.catchUp()
  }

  private catchUp(): void {
    if (!this.question) return
    let behind = false
    for (const series of this.live.of(this.name)) {
      const key = subjectKey(series)
      const known = this.known.get(key)
      const beyond = known === undefined ? this.continues(series) || series.from > 0 : known < series.from
      const coarse = this.take(series, known ?? 0)
      behind ||= beyond || coarse
      this.known.set(key, Math.max(known ?? 0, series.ticks.at(-1)!.total))
    }
    this.version++
    for (const listener of this.listeners) listener()
    if (behind) this.onBehind?.()
  }

  /** Adds what the answer does not have. Says whether some of it is too coarse to stay as it is. */
  private take(series: LiveSeries, known: number): boolean {
    const { axis, range, width } = this.question!
    const first = series.ticks.findLastIndex(({ total }) => total <= known) + 1
    if (first === series.ticks.length) return false
    const line = this.lineOf(series)
    const fresh = series.ticks.slice(first)
    for (const tick of fresh) {
      const count = Math.min(tick.count, tick.total - Math.max(known, tick.total - tick.count))
      line.total += count
      if (!addTick(line.columns, tick, count, axis, range)) line.columns = { ...line.columns }
      line.latest = tick.points.findLast(([, , , , value]) => value !== null)?.[4] ?? line.latest
    }
    const shown = range ?? { from: line.columns.x[0] ?? 0, to: line.columns.x.at(-1) ?? 0 }
    if (line.columns.x.length > 2 * width) line.columns = compact(line.columns, width)
    return fresh.some((tick) => isCoarse(tick, axis, (shown.to - shown.from) / width))
  }

  /** True if an earlier attempt has measured the same. */
  private continues({ attempt, source, rank }: Subject): boolean {
    return attempt > 1 && this.lines.some((line) => line.source === source && line.rank === rank)
  }

  private lineOf({ source, rank }: Subject): DataLine {
    const known = this.lines.find((line) => line.source === source && line.rank === rank)
    if (known) return known
    const line = { source, rank, columns: emptyColumns(), total: 0, latest: null }
    this.lines = [...this.lines, line].sort((a, b) => a.rank - b.rank || a.source.localeCompare(b.source, "en", { numeric: true }))
    return line
  }
}

/** A tick that brings all its points is a column for each; another is one, at its first point, which holds them all. Says whether they came to the end. */
function addTick(columns: Columns, tick: Tick, fresh: number, axis: WireAxis, range: Range | null): boolean {
  const whole = tick.points.length === tick.count && fresh === tick.count
  const added = whole ? tick.points.map((point) => columnOf([point], axis)) : [{ ...columnOf(tick.points, axis), ...weights(tick, fresh) }]
  const wanted = added.filter(({ x }) => !range || (x >= range.from && x <= range.to))
  return wanted.map((column) => insert(columns, column)).every(Boolean)
}

/**
 * A tick that keeps points back is one column at its first point, with nothing until the next tick. After the stream was away, a tick holds
 * all points of that time: it is coarse if that gap can be seen, and lasts longer than ticks do.
 */
function isCoarse({ points, count }: Tick, axis: WireAxis, columnWidth: number): boolean {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last || points.length === count) return false
  return last[PLACE.time] - first[PLACE.time] > LONG_TICK_S && last[PLACE[axis]] - first[PLACE[axis]] > COARSE_COLUMNS * columnWidth
}

function columnOf(points: readonly WirePoint[], axis: WireAxis): Column {
  return points.map((point) => single(point[PLACE[axis]], point[4] ?? NaN)).reduce(join)
}

function single(x: number, value: number): Column {
  return { x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: Number.isNaN(value) ? 1 : 0 }
}

function weights({ count, sum, odd }: Tick, fresh: number): Pick<Column, "mean" | "count" | "odd"> {
  return { mean: count > odd ? sum / (count - odd) : NaN, count: fresh, odd: Math.min(odd, fresh) }
}

/** Both, ascending in x. */
function merged(a: Columns, b: Columns): Columns {
  const all = emptyColumns()
  const order = [...a.x.map((x, index) => ({ x, of: a, index })), ...b.x.map((x, index) => ({ x, of: b, index }))].sort((p, q) => p.x - q.x)
  for (const field of FIELDS) all[field] = order.map(({ of, index }) => of[field][index]!)
  return all
}
