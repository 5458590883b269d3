import { useQueries, useQueryClient, type Query, type UseQueryResult } from "@tanstack/react-query"
import { useMemo } from "react"
import { api, body, type Job, type JobConfig } from "@/client"
import { gather } from "@/lib/api/gather"
import { againAfter } from "@/lib/api/recovery"
import { fieldsOf } from "@/lib/compare/fields"
import { jobLabels, type Compared } from "@/lib/compare/groups"
import { pauseOf } from "@/lib/compare/pause"

/** Any other text is the id of nothing. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Jobs in one request. */
const AT_ONCE = 25
const MOMENT_MS = 10

interface Loaded {
  job: Job
  effective: JobConfig["effective"]
}

/** The jobs of a comparison, kept up to date while they run, and the ids at which there is none. */
export function useComparedJobs(ids: readonly string[]) {
  const client = useQueryClient()
  const { data, isPending, error } = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["compared", id],
      queryFn: () => (ID.test(id) ? ask(id, null) : null),
      refetchInterval: (query: Query<Loaded | null>) => againAfter(query.state.data ? pauseOf(query.state.data.job, ids.length) : false)(query),
    })),
    combine,
  })
  const jobs = useMemo(() => toCompared(data.filter((found) => found !== null && found !== undefined)), [data])
  const missing = ids.filter((_, index) => data[index] === null)
  return { jobs, missing, isPending, error, refetch: () => client.refetchQueries({ queryKey: ["compared"] }) }
}

/** Null where there is no such job, or no longer. */
const ask = gather(
  async (job: string[]): Promise<(Loaded | null)[]> => {
    const { items } = await body(api.GET("/api/v1/compare/jobs", { params: { query: { job } } }))
    return job.map((id) => items.find((item) => item.job.id === id.toLowerCase()) ?? null)
  },
  MOMENT_MS,
  AT_ONCE,
)

function combine(results: UseQueryResult<Loaded | null>[]) {
  return {
    data: results.map(({ data }) => data),
    isPending: results.some(({ isPending }) => isPending),
    error: results.find(({ data, error }) => error && data === undefined)?.error ?? null,
  }
}

function toCompared(found: Loaded[]): Compared[] {
  const labels = jobLabels(found.map(({ job }) => job))
  return found.map(({ job, effective }, index) => ({ job, fields: fieldsOf(effective), label: labels[index]! }))
}
