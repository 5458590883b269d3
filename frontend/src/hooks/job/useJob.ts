import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body, type JobEdit, type JobSpec } from "@/client"

/** The job as it is when its page opens; from then on its stream tells. */
export function useJob(id: string) {
  return useQuery({ queryKey: ["job", id], queryFn: () => body(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })), staleTime: Infinity, gcTime: 0 })
}

export function useStopJob(id: string) {
  return useMutation({ mutationFn: () => body(api.POST("/api/v1/jobs/{id}/stop", { params: { path: { id } } })) })
}

export function useDeleteJob(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => body(api.DELETE("/api/v1/jobs/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  })
}

export function useEditJob(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (edit: JobEdit) => body(api.PATCH("/api/v1/jobs/{id}", { params: { path: { id } }, body: edit })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["job-counts"] }),
  })
}

export function useSubmitJob() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ key, ...job }: { spec: JobSpec; source: string; bundle: string | null; key: string }) =>
      body(api.POST("/api/v1/jobs", { body: job, params: { header: { "idempotency-key": key } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  })
}
