export interface Line {
  xs: readonly number[]
  ys: readonly number[]
}

/** Columns for uPlot: a y of undefined means "not measured here, draw through", null means "a gap". */
export type Columns = [number[], ...(number | null | undefined)[][]]

/**
 * Brings lines with x values of their own onto one ascending axis. Where a line has the same x twice (asynchronous
 * workers report several pushes at one sample count) the axis repeats it, so that no point is lost.
 */
export function align(lines: readonly Line[]): Columns {
  const cells = lines.flatMap(({ xs, ys }, line) => xs.map((x, index) => ({ x, line, y: ys[index]! })))
  cells.sort((a, b) => a.x - b.x)
  const axis: number[] = []
  const columns: (number | null | undefined)[][] = lines.map(() => [])
  let first = 0
  const filled = lines.map(() => 0)
  for (const { x, line, y } of cells) {
    if (axis.length === 0 || axis[axis.length - 1] !== x) {
      first = axis.length
      filled.fill(0)
    }
    const row = first + filled[line]!++
    if (row === axis.length) axis.push(x)
    columns[line]![row] = Number.isFinite(y) ? y : null
  }
  for (const column of columns) column.length = axis.length
  return [axis, ...columns.map((column) => Array.from(column))]
}

/** The index whose x lies nearest; -1 for an empty axis. */
export function nearest(axis: readonly number[], x: number): number {
  let low = 0
  let high = axis.length - 1
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (axis[middle]! < x) low = middle
    else high = middle
  }
  return high < 0 || x - axis[low]! <= axis[high]! - x ? Math.min(low, high) : high
}
