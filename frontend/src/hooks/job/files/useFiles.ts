import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"

/** Files that the processes have stored: each of the job's events may have brought a checkpoint. */
export function useFiles(job: Job, latestEvent: number) {
  return useQuery({
    queryKey: ["files", job.id, job.status, latestEvent],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/files", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
  })
}

/** Exports of the model for serving: each change of the job may have brought one. */
export function useExports(job: Job) {
  return useQuery({
    queryKey: ["exports", job.id, job.seq],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/exports", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
  })
}

/** A small file as text, once somebody wants to see it. */
export function useFileText(jobId: string, file: { attempt: number | null; path: string }, wanted: boolean) {
  const { attempt, path } = file
  return useQuery({
    queryKey: ["file text", jobId, attempt, path],
    queryFn: () =>
      body(
        attempt === null
          ? api.GET("/api/v1/jobs/{id}/artifacts/{name}", { params: { path: { id: jobId, name: path } }, parseAs: "text" })
          : api.GET("/api/v1/jobs/{id}/files/{attempt}/{path}", { params: { path: { id: jobId, attempt, path } }, parseAs: "text" }),
      ),
    enabled: wanted,
    staleTime: Infinity,
  })
}
