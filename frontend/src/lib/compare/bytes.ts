import type { Columns } from "@/lib/charts/columns"
import type { Curve } from "./curves"

/** Columns of an answer: equal slices of [from, to], of which only those that hold points are there. */
export interface Sliced {
  from: number
  to: number
  width: number
  columns: Columns
}

/** How much was sent until then: exact at the edges of the slices, straight between them. */
export function sentUntil(all: readonly Sliced[]): Curve {
  const { from, to, width } = all[0] ?? { from: 0, to: 0, width: 1 }
  const sums = new Array<number>(width).fill(0)
  const slice = (to - from) / width || 1
  for (const { columns } of all) {
    columns.x.forEach((x, index) => {
      const finite = columns.count[index]! - columns.odd[index]!
      if (finite > 0) sums[Math.min(width - 1, Math.max(0, Math.floor((x - from) / slice)))]! += columns.mean[index]! * finite
    })
  }
  let total = 0
  return { x: [from, ...sums.map((_, index) => from + slice * (index + 1))], y: [0, ...sums.map((sum) => (total += sum))] }
}

/** The value of a curve that never falls; its first before it, its last after it. */
export function valueAt({ x, y }: Curve, at: number): number {
  if (x.length === 0) return NaN
  let [low, high] = [0, x.length - 1]
  if (at <= x[low]!) return y[low]!
  if (at >= x[high]!) return y[high]!
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (x[middle]! <= at) low = middle
    else high = middle
  }
  return y[low]! + ((y[high]! - y[low]!) * (at - x[low]!)) / (x[high]! - x[low]!)
}
