import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import type { Range, WireAxis } from "@/lib/charts/axes"

/** How often which values of a metric were measured in a range. While another range is on its way, the former answer stays. */
export function useDistribution({ id, seq }: Pick<Job, "id" | "seq">, name: string, axis: WireAxis, range: Range | null) {
  const query = { name, x: axis, from: range?.from, to: range?.to }
  return useQuery({
    queryKey: ["distribution", id, seq, name, axis, range],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/distribution", { params: { path: { id }, query } })),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}
