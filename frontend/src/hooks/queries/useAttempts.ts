import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"

/** Read again with each change of the job, of which an attempt's beginning and end are some. */
export function useAttempts({ id, attempt, status }: Job) {
  return useQuery({
    queryKey: ["attempts", id, attempt, status],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/attempts", { params: { path: { id } } })),
    placeholderData: (before) => before,
  })
}
