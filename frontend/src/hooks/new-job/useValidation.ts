import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { Sources } from "@/lib/upload/bundle"

/** Findings of the server about a job file and its code, which is uploaded or not yet. Responses for the text before stay until the new one is there. */
export function useValidation(yaml: string, bundle: string | null, sources: Sources | null) {
  return useQuery({
    queryKey: ["validation", yaml, bundle, sources?.id],
    queryFn: () => body(api.POST("/api/v1/jobs/validate", { body: { yaml, bundle, sources: sources?.texts ?? null } })),
    enabled: yaml.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}
