import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { JsonSchema } from "@/lib/job-file/schema"

export function useJobSchema() {
  return useQuery({ queryKey: ["schema"], queryFn: async () => (await body(api.GET("/api/v1/schema/job"))) as JsonSchema, staleTime: Infinity })
}
