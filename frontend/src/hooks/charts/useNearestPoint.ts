import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { Range, WireAxis } from "@/lib/charts/axes"
import { nearestOutside } from "@/lib/charts/nearest"

/** Each question narrows the place down to one of so many slices. */
const COLUMNS = 400

interface Wanted {
  axis: WireAxis
  /** A range in which the metric has no point. */
  range: Range
}

/** The place of the point that lies nearest to the range, on either side; null: the metric has none. */
export function useNearestPoint(id: string, name: string, { axis, range }: Wanted) {
  const ask = async (from?: number, to?: number) => {
    const query = { name: [name], x: axis, columns: COLUMNS, from, to }
    const { charts } = await body(api.GET("/api/v1/jobs/{id}/chart", { params: { path: { id }, query } }))
    return charts.flatMap(({ series }) => series.flatMap(({ columns }) => columns.x))
  }
  return useQuery({
    queryKey: ["nearest point", id, name, axis, range],
    queryFn: async () => {
      const all = await ask()
      const before = all.filter((x) => x < range.from)
      // A column tells where it begins: the last point before the range lies between there and the range.
      const close = before.length > 0 ? await ask(Math.max(...before), range.from) : []
      return nearestOutside([...all, ...close], range)
    },
    staleTime: Infinity,
  })
}
