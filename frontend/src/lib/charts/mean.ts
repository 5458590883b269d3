import type { DataLine } from "./chartData"
import { emptyColumns, type Columns } from "./columns"
import { reach } from "./lines"

/** From so many lines of one kind on, a chart shows their mean and range instead of each. */
export const MANY = 3
/** Index of the line of all workers, whose colour no rank has. */
export const MEAN = -1

/** Lines of many workers, or of many servers, as one line each: the mean of their points, from the lowest to the highest. Others stay as they are. */
export function meanLines(lines: readonly DataLine[], width: number): DataLine[] {
  return [...new Set(lines.map(kindOf))].flatMap((kind) => {
    const those = lines.filter((line) => kindOf(line) === kind)
    return those.length < MANY ? those : [meanOf(kind, those, width)]
  })
}

function kindOf({ source, rank }: DataLine): string {
  return rank >= 0 ? "worker" : source.replace(/-\d+$/, "")
}

function meanOf(kind: string, lines: readonly DataLine[], width: number): DataLine {
  const latest = lines.flatMap(({ latest }) => latest ?? [])
  return {
    source: kind,
    rank: -1,
    label: `mean of ${lines.length} ${kind}s`,
    ...(kind === "worker" && { index: MEAN }),
    columns: joinColumns(lines.map(({ columns }) => columns), width),
    total: lines.reduce((sum, { total }) => sum + total, 0),
    latest: latest.length > 0 ? latest.reduce((sum, value) => sum + value, 0) / latest.length : null,
  }
}

/**
 * Columns of several lines that fall into the same slice become one. Slices are so wide that each line has a column or two in most of them: else neighbours would be
 * means of different lines. Their width is a power of two, so that they stay where they are while a line grows.
 */
function joinColumns(all: readonly Columns[], width: number): Columns {
  const [from, to] = reach(all.map((columns) => ({ columns }))) ?? [0, 0]
  const most = Math.max(1, ...all.map(({ x }) => x.length))
  const slice = to > from ? 2 ** Math.ceil(Math.log2((to - from) / Math.min(width, most))) : 1
  const joined = emptyColumns()
  const next = all.map(() => 0)
  for (;;) {
    const begin = all.reduce((least, { x }, line) => Math.min(least, x[next[line]!] ?? Infinity), Infinity)
    if (begin === Infinity) return joined
    const end = (Math.floor(begin / slice) + 1) * slice
    const sum = new Sum(begin)
    all.forEach((columns, line) => {
      for (; columns.x[next[line]!]! < end; next[line]!++) sum.add(columns, next[line]!)
    })
    sum.into(joined)
  }
}

/** Columns of one slice. */
class Sum {
  private total = 0
  private weight = 0
  private low = Infinity
  private high = -Infinity
  private count = 0
  private odd = 0

  constructor(private readonly x: number) {}

  add({ mean, low, high, count, odd }: Columns, index: number): void {
    const weight = count[index]! - odd[index]!
    this.count += count[index]!
    this.odd += odd[index]!
    if (weight === 0) return
    this.weight += weight
    this.total += mean[index]! * weight
    this.low = Math.min(this.low, low[index]!)
    this.high = Math.max(this.high, high[index]!)
  }

  /** The mean stands for first and last, which mean nothing among lines. */
  into(columns: Columns): void {
    const finite = this.weight > 0
    const mean = finite ? this.total / this.weight : NaN
    const column = { x: this.x, first: mean, low: finite ? this.low : NaN, high: finite ? this.high : NaN, last: mean, mean, count: this.count, odd: this.odd }
    for (const [field, value] of Object.entries(column) as [keyof Columns, number][]) columns[field].push(value)
  }
}

/** The lines of a chart as means, computed when they are read after a change. */
export class MeanSource {
  private computed: { version: number; lines: DataLine[] } | null = null

  constructor(
    private readonly data: { lines: readonly DataLine[]; version: number; subscribe: (listener: () => void) => () => void },
    private readonly width: number,
  ) {}

  get lines(): readonly DataLine[] {
    const { version, lines } = this.data
    if (this.computed?.version !== version) this.computed = { version, lines: meanLines(lines, this.width) }
    return this.computed.lines
  }

  readonly subscribe = (listener: () => void): (() => void) => this.data.subscribe(listener)
}
