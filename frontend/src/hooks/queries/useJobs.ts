import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query"
import { api, body, type JobStatus } from "@/client"

export interface JobFilters {
  status: JobStatus[]
  strategy: string | null
  q: string
}

export function useJobs({ status, strategy, q }: JobFilters) {
  const filters = { ...(status.length > 0 && { status }), ...(strategy && { strategy }), ...(q && { q }) }
  return useInfiniteQuery({
    queryKey: ["jobs", filters],
    queryFn: ({ pageParam }) => body(api.GET("/api/v1/jobs", { params: { query: { ...filters, limit: 25, cursor: pageParam } } })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  })
}
