import { nearest, type Column, columnAt } from "./columns"
import type { ChartLine } from "./lines"

/** Where values lie on the picture, in CSS pixels; `x` takes the server's units. */
export interface Scales {
  x: (x: number) => number
  y: (value: number) => number
}

/** Value of one line at the pointer. */
export interface Hovered {
  line: ChartLine
  column: Column
  /** As drawn: of the line through the means, which smoothing may have moved. NaN: no finite value. */
  drawn: number
  /** CSS pixels between pointer and column. */
  away: number
}

/** Columns within this many pixels of the pointer count as pointed at: a spike can be one pixel wide. */
const REACH_PX = 4

/**
 * Value of each line at the pointer: of the columns in reach the one whose extent is nearest, so that to point at a spike is to read it;
 * without any in reach, the nearest one. The line that is pointed at stands first, the others in their order.
 */
export function hoveredAt(lines: readonly ChartLine[], { x, y }: Scales, left: number, top: number, xAt: number): Hovered[] {
  const found = lines.flatMap((line) => {
    const index = pointedAt(line, { x, y }, left, top, nearest(line.columns.x, xAt))
    if (index < 0) return []
    const column = columnAt(line.columns, index)
    return [{ line, column, drawn: line.means[index] ?? NaN, away: Math.abs(x(column.x) - left), apart: Math.hypot(x(column.x) - left, apartOf(column, y, top)) }]
  })
  const first = found.reduce<(typeof found)[number] | null>((best, one) => (best && best.apart <= one.apart ? best : one), null)
  return found.sort((a, b) => Number(b === first) - Number(a === first)).map(({ line, column, drawn, away }) => ({ line, column, drawn, away }))
}

function pointedAt({ columns }: ChartLine, { x, y }: Scales, left: number, top: number, closest: number): number {
  let best = closest
  let least = Infinity
  const look = (index: number) => {
    const aside = Math.abs(x(columns.x[index]!) - left)
    if (aside > REACH_PX) return false
    const apart = apartOf(columnAt(columns, index), y, top) + aside / (10 * REACH_PX) // of those that are as near, the one under the pointer
    if (apart < least) [best, least] = [index, apart]
    return true
  }
  for (let index = closest; index >= 0 && look(index); ) index--
  for (let index = closest + 1; index < columns.x.length && look(index); ) index++
  return best
}

/** Pixels between the pointer's height and the column's extent. */
function apartOf({ low, high }: Column, y: Scales["y"], top: number): number {
  if (Number.isNaN(low)) return Infinity
  const [upper, lower] = [y(high), y(low)]
  return Math.max(0, upper - top, top - lower)
}
