import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

export function useStrategies() {
  return useQuery({ queryKey: ["strategies"], queryFn: () => body(api.GET("/api/v1/strategies")), staleTime: Infinity })
}
