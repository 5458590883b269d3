import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

const FOUND = 20

/** The newest jobs whose name or id fits, to select one from. Not under "jobs": what stands there are pages of the list. */
export function useJobsNamed(q: string) {
  return useQuery({
    queryKey: ["jobs named", q],
    queryFn: async () => (await body(api.GET("/api/v1/jobs", { params: { query: { limit: FOUND, ...(q && { q }) } } }))).items,
    placeholderData: keepPreviousData,
  })
}
