import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body, type Node } from "@/client"

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

export function useRotateNode(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => body(api.POST("/api/v1/nodes/{id}/rotate", { params: { path: { id } } })),
    onSuccess: async (rotating) => {
      await client.cancelQueries({ queryKey: KEY }) // a list read before this change would look as if it had rotated already
      client.setQueryData<{ items: Node[] }>(KEY, (list) => list && { ...list, items: list.items.map((node) => (node.id === id ? rotating : node)) })
    },
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
}
