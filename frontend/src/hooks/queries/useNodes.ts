import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

export function useNodes() {
  return useQuery({ queryKey: ["nodes"], queryFn: () => body(api.GET("/api/v1/nodes")), refetchInterval: 2_000 })
}
