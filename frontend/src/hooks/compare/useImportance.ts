import { useQuery } from "@tanstack/react-query"
import { api, body, type Importance } from "@/client"
import type { Compared } from "@/lib/compare/groups"
import { hasEnded } from "@/lib/status"

/** The settings that explain a figure of these jobs; asked again when one of them ends. Not asked while `wanted` is false. */
export function useImportance(jobs: readonly Compared[], figure: string, wanted: boolean) {
  const ids = jobs.map(({ job }) => job.id)
  const ended = jobs.filter(({ job }) => hasEnded(job)).length
  return useQuery({
    queryKey: ["importance", ids, figure, ended],
    queryFn: () => body(api.GET("/api/v1/compare/importance", { params: { query: { job: ids, figure } } })),
    enabled: wanted && ids.length > 0,
    staleTime: Infinity,
    // A ranking of another figure says nothing of this one.
    placeholderData: (before: Importance | undefined) => (before?.figure === figure ? before : undefined),
  })
}
