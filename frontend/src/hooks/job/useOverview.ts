import { useMutation, useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

const EVERY_MS = 2000

/** Its figures are folded on the server, so it is asked again while the job lives, and whenever the job's state changes. */
export function useOverview(job: Job) {
  const { id, status, attempt } = job
  return useQuery({
    queryKey: ["overview", id, status, attempt],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/overview", { params: { path: { id } } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
  })
}

/** Cost of a restart and of a stop of one process, as of now. */
export function useChoices(id: string, processId: string, asked: boolean) {
  return useQuery({
    queryKey: ["choices", id, processId],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/processes/{process_id}/choices", { params: { path: { id, process_id: processId } } })),
    enabled: asked,
    gcTime: 0,
  })
}

export function useEndProcess(id: string, processId: string, how: "restart" | "stop") {
  const params = { path: { id, process_id: processId } }
  return useMutation({
    mutationFn: () =>
      how === "restart"
        ? body(api.POST("/api/v1/jobs/{id}/processes/{process_id}/restart", { params }))
        : body(api.POST("/api/v1/jobs/{id}/processes/{process_id}/stop", { params })),
  })
}
