import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

/** Worker 0 stores them with each checkpoint. */
const EVERY_MS = 10_000

export function useParameters(job: Job) {
  return useQuery({
    queryKey: ["parameters", job.id, job.status, job.attempt],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/parameters", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
  })
}
