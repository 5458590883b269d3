import { useQuery } from "@tanstack/react-query"
import { api, body, type Job, type UpdateHistograms } from "@/client"
import type { GroupedBy } from "@/lib/staleness/updates"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

const EVERY_MS = 5000

interface Asked {
  what: UpdateHistograms["what"]
  /** Null: all layers together. */
  layer: string | null
  /** Null: all workers. */
  rank: number | null
  by: GroupedBy
}

/** Histograms of a job's sampled gradients or updates. */
export function useUpdates(job: Job, { what, layer, rank, by }: Asked) {
  const query = { what, by, ...(layer === null ? {} : { layer }), ...(rank === null ? {} : { rank: [rank] }) }
  return useQuery({
    queryKey: ["updates", job.id, hasEnded(job), what, layer, rank, by],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/updates", { params: { path: { id: job.id }, query } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
    enabled: Boolean(job.spec.update_histograms),
  })
}
