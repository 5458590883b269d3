import type { Columns } from "@/lib/charts/columns"

/** Target of a line's strokes: a Path2D, or the text of an SVG path. */
export interface Pen {
  moveTo: (x: number, y: number) => void
  lineTo: (x: number, y: number) => void
}

/** Where columns come to lie: pixels for x in the server's units, and for values. */
export interface Place {
  x: (x: number) => number
  y: (y: number) => number
  /** The first and last column that are to be seen, those beside them included. */
  from: number
  to: number
  /** Columns further apart than this are not joined. */
  gap: number
  /** `from` has been drawn: what follows goes on where it ended. */
  goesOn?: boolean
}

/** Each column in its exact vertical extent: first, lowest, highest, last. */
export function traceColumns(pen: Pen, { x, first, low, high, last }: Columns, place: Place): void {
  run(x, last, place, (at, index, begins) => {
    if (place.goesOn && index === place.from) {
      pen.moveTo(at, place.y(last[index]!))
      return
    }
    const enter = place.y(first[index]!)
    if (begins) pen.moveTo(at, enter)
    else pen.lineTo(at, enter)
    if (low[index]! < high[index]!) {
      pen.lineTo(at, place.y(low[index]!))
      pen.lineTo(at, place.y(high[index]!))
      pen.lineTo(at, place.y(last[index]!))
    }
  })
}

export function traceMeans(pen: Pen, { x }: Columns, means: readonly number[], place: Place): void {
  run(x, means, place, (at, index, begins) => (begins ? pen.moveTo(at, place.y(means[index]!)) : pen.lineTo(at, place.y(means[index]!))))
}

/** The envelope from lowest to highest, as closed shapes. */
export function traceBand(pen: Pen, { x, low, high }: Columns, place: Place): void {
  let open: number[] = []
  const close = () => {
    for (const index of open.toReversed()) pen.lineTo(place.x(x[index]!), place.y(low[index]!))
    open = []
  }
  run(x, high, place, (at, index, begins) => {
    if (begins) {
      close()
      pen.moveTo(at, place.y(high[index]!))
    } else pen.lineTo(at, place.y(high[index]!))
    open.push(index)
  })
  close()
}

/** Calls `draw` for each column with a finite value; `begins` after a gap. */
function run(x: readonly number[], values: readonly number[], { x: px, from, to, gap }: Place, draw: (at: number, index: number, begins: boolean) => void): void {
  let before = -1
  for (let index = from; index <= to; index++) {
    if (!Number.isFinite(values[index])) before = -1
    else {
      draw(px(x[index]!), index, before < 0 || x[index]! - x[before]! > gap)
      before = index
    }
  }
}

/** Columns that stand alone between gaps, which no line would show. */
export function lonely(columns: Columns, { from, to, gap }: Place): number[] {
  const found = []
  for (let index = from; index <= to; index++) {
    if (Number.isFinite(columns.mean[index]) && !joined(columns, index - 1, gap) && !joined(columns, index, gap)) found.push(index)
  }
  return found
}

/** True if a line leads from this column to the next. */
export function joined({ x, mean }: Columns, index: number, gap: number): boolean {
  return Number.isFinite(mean[index] ?? NaN) && Number.isFinite(mean[index + 1] ?? NaN) && x[index + 1]! - x[index]! <= gap
}
