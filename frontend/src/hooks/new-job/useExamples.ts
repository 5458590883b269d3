import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

export function useExamples() {
  return useQuery({ queryKey: ["examples"], queryFn: () => body(api.GET("/api/v1/examples")), staleTime: 60_000 })
}
