import { useQuery } from "@tanstack/react-query"
import { useMemo, useSyncExternalStore } from "react"
import { api, body } from "@/client"
import { useOpenedFeed } from "@/hooks/job/useFeed"

/** Metrics that the job has measured; those that it begins to measure while one looks, too. */
export function useMetricNames() {
  const { opened, live } = useOpenedFeed()
  const { data, ...query } = useQuery({
    queryKey: ["job", opened.id, "metric names"],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/metrics/names", { params: { path: { id: opened.id } } })),
  })
  const heard = useSyncExternalStore(live.subscribeNames, live.names)
  return { ...query, data: useMemo(() => [...new Set([...(data?.items.map(({ name }) => name) ?? []), ...heard])], [data, heard]) }
}
