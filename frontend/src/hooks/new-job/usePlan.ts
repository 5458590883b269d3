import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body, type JobSpec, type ModelSize } from "@/client"

/** Machines come free and fill up while one types. */
const AGAIN_MS = 5_000

/** Plan of the platform for the job, as if it were submitted now. */
export function usePlan(spec: JobSpec | undefined, bundle: string | null, size: ModelSize | null) {
  return useQuery({
    queryKey: ["plan", spec, bundle, size],
    queryFn: () => body(api.POST("/api/v1/jobs/plan", { body: { spec: spec!, bundle, size } })),
    enabled: spec !== undefined,
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN_MS,
    gcTime: 60_000,
    retry: false,
  })
}
