import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

/** What the server says about a job file. Answers for the text before stay until the new one is there. */
export function useValidation(yaml: string) {
  return useQuery({
    queryKey: ["validation", yaml],
    queryFn: () => body(api.POST("/api/v1/jobs/validate", { body: { yaml } })),
    enabled: yaml.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}
