import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

const EVERY_MS = 10_000

/** The diagnosis reads the times of all pushes, so it is asked for less often than the overview. */
export function useStragglers(job: Job) {
  const { id, status, attempt } = job
  return useQuery({
    queryKey: ["stragglers", id, status, attempt],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/stragglers", { params: { path: { id } } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
  })
}
