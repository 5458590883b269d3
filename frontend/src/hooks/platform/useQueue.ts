import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"

const KEY = ["queue"]

export function useQueue() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/jobs/queue")), refetchInterval: 2_000 })
}

export function useChangePriority(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (priority: number) => body(api.POST("/api/v1/jobs/{id}/priority", { params: { path: { id } }, body: { priority } })),
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
}
