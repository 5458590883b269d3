import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

/** Version of the API that answers. */
export function useHealth() {
  return useQuery({ queryKey: ["health"], queryFn: () => body(api.GET("/api/v1/health")) })
}
