/** One measured value, as the API sends it: [step, samples, version, time, value]; a value that is not finite comes as null. */
export type WirePoint = readonly [step: number, samples: number, version: number, time: number, value: number | null]

/** One series in a tick of the stream: at most four real points that hold first, lowest, highest and last. */
export interface Tick {
  /** Points that the series had after this tick. */
  total: number
  /** Points that came with it. */
  count: number
  /** Sum of the finite ones. */
  sum: number
  odd: number
  points: readonly WirePoint[]
}

export interface Subject {
  attempt: number
  source: string
  /** The worker that it is about; -1: none. */
  rank: number
}

export interface LiveEvent {
  seq: number
  series: readonly (Subject & Tick & { name: string })[]
}

/** The ticks of one series since the page was opened, the oldest of which may have been forgotten. */
export interface LiveSeries extends Subject {
  ticks: Tick[]
  /** Points that the series had when the oldest tick kept began: who knows fewer has to ask the server. */
  from: number
}

/** More than a minute of a series: longer than an answer is under way. */
const KEPT_TICKS = 300
/** No metric's name. */
const ANY = ""

/** Metrics that came on the stream, for the charts that draw them. Changes in place and tells listeners by metric: nothing else of the page is drawn anew. */
export class LiveMetrics {
  private readonly all = new Map<string, Map<string, LiveSeries>>()
  private known: readonly string[] = []
  private readonly listeners = new Map<string, Set<() => void>>()
  /** When the latest tick of a metric came, milliseconds since the epoch. */
  private readonly heard = new Map<string, number>()

  add({ series }: LiveEvent, now = Date.now()): void {
    for (const { name, attempt, source, rank, ...tick } of series) {
      const subjects = this.subjectsOf(name)
      const key = subjectKey({ attempt, source, rank })
      const known = subjects.get(key) ?? { attempt, source, rank, ticks: [], from: tick.total - tick.count }
      subjects.set(key, known)
      known.ticks.push(tick)
      if (known.ticks.length > KEPT_TICKS) known.from = known.ticks.shift()!.total
      this.heard.set(name, now)
    }
    for (const name of new Set(series.map(({ name }) => name))) this.listeners.get(name)?.forEach((listener) => listener())
  }

  of(name: string): Iterable<LiveSeries> {
    return this.all.get(name)?.values() ?? []
  }

  /** Names of the metrics that have come. The same array until there is another. */
  readonly names = (): readonly string[] => this.known

  heardAt(name: string): number | null {
    return this.heard.get(name) ?? null
  }

  subscribe(name: string, listener: () => void): () => void {
    const listeners = this.listeners.get(name) ?? new Set()
    this.listeners.set(name, listeners.add(listener))
    return () => void listeners.delete(listener)
  }

  readonly subscribeNames = (listener: () => void): (() => void) => this.subscribe(ANY, listener)

  clear(): void {
    this.all.clear()
  }

  private subjectsOf(name: string): Map<string, LiveSeries> {
    const subjects = this.all.get(name) ?? new Map<string, LiveSeries>()
    this.all.set(name, subjects)
    if (!this.known.includes(name)) {
      this.known = [...this.known, name]
      this.listeners.get(ANY)?.forEach((listener) => listener())
    }
    return subjects
  }
}

export function subjectKey({ attempt, source, rank }: Subject): string {
  return `${attempt} ${source} ${rank}`
}
