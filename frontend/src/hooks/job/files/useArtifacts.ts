import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"

/** Files appear with checkpoints and at the end: each of the job's events may have brought one. */
export function useArtifacts(job: Job, latestEvent: number) {
  return useQuery({
    queryKey: ["artifacts", job.id, job.status, latestEvent],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/artifacts", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
  })
}
