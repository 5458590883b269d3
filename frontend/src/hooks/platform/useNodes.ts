import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"

const KEY = ["nodes"]

export function useNodes() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/nodes")), refetchInterval: 2_000 })
}

export function useRemoveNode(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => body(api.DELETE("/api/v1/nodes/{id}", { params: { path: { id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
}

export function useDrainNode(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (draining: boolean) =>
      body(draining ? api.POST("/api/v1/nodes/{id}/drain", { params: { path: { id } } }) : api.POST("/api/v1/nodes/{id}/resume", { params: { path: { id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
}
