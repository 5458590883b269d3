/** Points of one line by the pixel column of the chart that they fall into: column-major, ascending in x. NaN stands for a value that is not finite. */
export interface Columns {
  /** Place of the first point in the column. */
  x: number[]
  first: number[]
  low: number[]
  high: number[]
  last: number[]
  /** Mean of the finite values. */
  mean: number[]
  /** Points, those that are not finite among them. */
  count: number[]
  /** Points whose value is not finite. */
  odd: number[]
}

/** As the API sends columns: null for what is not finite. */
export type WireColumns = { [field in keyof Columns]: readonly (number | null)[] }

export type Column = { [field in keyof Columns]: number }

export const FIELDS = ["x", "first", "low", "high", "last", "mean", "count", "odd"] as const

export function emptyColumns(): Columns {
  return { x: [], first: [], low: [], high: [], last: [], mean: [], count: [], odd: [] }
}

export function fromWire(wire: WireColumns): Columns {
  const columns = emptyColumns()
  for (const field of FIELDS) columns[field] = wire[field].map((value) => value ?? NaN)
  return columns
}

export function columnAt(columns: Columns, index: number): Column {
  const column = {} as Column
  for (const field of FIELDS) column[field] = columns[field][index]!
  return column
}

/** Adds a column where its x belongs. Says whether that was the end, as it is but for a source that goes back (a worker that was replaced). */
export function insert(columns: Columns, column: Column): boolean {
  let place = columns.x.length
  while (place > 0 && columns.x[place - 1]! > column.x) place--
  const atEnd = place === columns.x.length
  if (atEnd) for (const field of FIELDS) columns[field].push(column[field])
  else for (const field of FIELDS) columns[field].splice(place, 0, column[field])
  return atEnd
}

/** One column that holds the points of both; `a` came before `b`. Exact but for rounding of the mean. */
export function join(a: Column, b: Column): Column {
  const [left, right] = [a.count - a.odd, b.count - b.odd]
  return {
    x: a.x,
    first: Number.isNaN(a.first) ? b.first : a.first,
    low: lesser(a.low, b.low),
    high: -lesser(-a.high, -b.high),
    last: Number.isNaN(b.last) ? a.last : b.last,
    mean: left === 0 ? b.mean : right === 0 ? a.mean : (a.mean * left + b.mean * right) / (left + right),
    count: a.count + b.count,
    odd: a.odd + b.odd,
  }
}

function lesser(a: number, b: number): number {
  return Number.isNaN(a) || b < a ? b : a
}

/** Neighbours that lie in the same of `width` equal slices of the whole become one. */
export function compact(columns: Columns, width: number): Columns {
  const { x } = columns
  const [from, to] = [x[0] ?? 0, x[x.length - 1] ?? 0]
  const slice = (to - from) / width
  const after = emptyColumns()
  let open: Column | null = null
  let number = -1
  for (let index = 0; index < x.length; index++) {
    const column = columnAt(columns, index)
    const its = slice > 0 ? Math.min(width - 1, Math.floor((column.x - from) / slice)) : 0
    if (open && its === number) open = join(open, column)
    else {
      if (open) insert(after, open)
      open = column
    }
    number = its
  }
  if (open) insert(after, open)
  return after
}

/** The least and greatest value of what lies in [from, to], and in the column that reaches into it; null where nothing is finite. */
export function extent({ x, low, high }: Columns, from: number, to: number): [low: number, high: number] | null {
  let [least, most] = [Infinity, -Infinity]
  for (let index = Math.max(0, after(x, from) - 1); index < x.length && x[index]! <= to; index++) {
    if (low[index]! < least) least = low[index]!
    if (high[index]! > most) most = high[index]!
  }
  return least <= most ? [least, most] : null
}

/** The index of the first x that is not below `value`. */
export function after(x: readonly number[], value: number): number {
  let [low, high] = [0, x.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (x[middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The index whose x lies nearest; -1 without any. */
export function nearest(x: readonly number[], value: number): number {
  const right = after(x, value)
  if (right === x.length) return x.length - 1
  return right > 0 && value - x[right - 1]! <= x[right]! - value ? right - 1 : right
}

/** How far columns have been counted. They grow at their end; where one comes between others, new ones are made. */
const counted = new WeakMap<Columns, { columns: number; points: number; odd: number }>()

/** Points in all columns; those that were counted before are not counted again. */
export function points(columns: Columns): number {
  return countedIn(columns).points
}

/** Points in all columns whose value is not finite. */
export function odd(columns: Columns): number {
  return countedIn(columns).odd
}

function countedIn(columns: Columns): { points: number; odd: number } {
  const known = counted.get(columns) ?? { columns: 0, points: 0, odd: 0 }
  for (; known.columns < columns.count.length; known.columns++) {
    known.points += columns.count[known.columns]!
    known.odd += columns.odd[known.columns]!
  }
  counted.set(columns, known)
  return known
}
