import { useMemo, useState } from "react"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useNow } from "@/hooks/useNow"
import { quantityOf } from "@/lib/charts/metrics"
import { differingPaths } from "@/lib/compare/fields"
import type { Compared } from "@/lib/compare/groups"
import { isWithin } from "@/lib/compare/ranges"
import { runFields, type RunField } from "@/lib/compare/runs"
import { hasEnded } from "@/lib/status"
import { columnsFor, useMetricSummaries } from "./useComparedCharts"
import type { ComparedMetric } from "./useComparedMetric"
import { useComparison } from "./useComparison"

/** The runs of a comparison, as the table and all panels share them. */
export interface Runs {
  all: readonly Compared[]
  /** Jobs that are switched on. */
  on: readonly Compared[]
  /** Jobs that are switched on and inside all ranges: the panels draw these. */
  drawn: readonly Compared[]
  fields: readonly RunField[]
  /** Settings that differ between any two of all jobs. */
  differing: readonly string[]
  /** Id of the job that stands out: the one under pointer or focus, else the picked one. */
  standsOut: string | null
  point: (id: string | null) => void
}

export function useRuns(all: readonly Compared[], metric: ComparedMetric): Runs {
  const [{ axis, off, pick, within }] = useComparison()
  const [pointed, point] = useState<string | null>(null)
  const now = useNow(all.some(({ job }) => !hasEnded(job)))
  const plain = useMemo(() => all.map(({ job }) => job), [all])
  const described = useMetric(metric.name)
  const { title, better } = described
  const isShare = quantityOf(described) === "share"
  const of = useMetricSummaries(plain, { metric: metric.name, axis, width: columnsFor(all.length) })
  const fields = useMemo(() => runFields(all, { title, better, isShare, of }, now), [all, title, better, isShare, of, now])
  const differing = useMemo(() => differingPaths(all.map(({ fields }) => fields)), [all])
  const on = useKept(all, (job) => !off.includes(job.job.id))
  const drawn = useKept(on, (job) => isWithin(job, within, fields))
  const known = (id: string | null) => (drawn.some(({ job }) => job.id === id) ? id : null)
  return { all, on, drawn, fields, differing, standsOut: known(pointed) ?? known(pick), point }
}

/** The jobs that pass, as the same list while they are the same jobs: what hangs on it is not drawn again with each second. */
function useKept(jobs: readonly Compared[], passes: (job: Compared) => boolean): readonly Compared[] {
  const ids = jobs.filter(passes).map(({ job }) => job.id).join()
  return useMemo(() => {
    const kept = new Set(ids.split(","))
    return jobs.filter(({ job }) => kept.has(job.id))
  }, [jobs, ids])
}
