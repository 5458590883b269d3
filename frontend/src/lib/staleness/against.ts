import type { DataLine } from "@/lib/charts/chartData"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { heatOf } from "@/lib/charts/heat"
import { reach } from "@/lib/charts/lines"

/** More points could not be seen apart. */
const SLICES = 120

/** One metric over another: for each worker a point for each slice of the axis in which both were measured, at their means. */
export function against(xs: readonly DataLine[], ys: readonly DataLine[]): DataLine[] {
  const ends = reach([...xs, ...ys])
  if (!ends || ends[0] === ends[1]) return []
  const range = { from: ends[0], to: ends[1] }
  const [x, y] = [heatOf(xs, range, SLICES, "mean"), heatOf(ys, range, SLICES, "mean")]
  return y.ranks.flatMap((rank, row) => {
    const values = x.values[x.ranks.indexOf(rank)]
    if (!values) return []
    const columns = emptyColumns()
    y.values[row]!.forEach((value, slice) => {
      const at = values[slice] ?? null
      if (value === null || at === null) return
      insert(columns, { x: at, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: 0 })
    })
    return [{ source: `worker-${rank}`, rank, columns, total: columns.x.length, latest: columns.last.at(-1) ?? null }]
  })
}
