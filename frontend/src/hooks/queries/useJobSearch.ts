import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

const FOUND = 20

/** The newest jobs whose names contain the text. */
export function useJobSearch(q: string) {
  return useQuery({
    queryKey: ["jobs", "search", q],
    queryFn: async () => (await body(api.GET("/api/v1/jobs", { params: { query: { limit: FOUND, ...(q && { q }) } } }))).items,
    placeholderData: keepPreviousData,
  })
}
