import { useQueries, useQueryClient, type QueryClient, type UseQueryResult } from "@tanstack/react-query"
import { useMemo } from "react"
import { api, body, Problem, type Job, type JobConfig } from "@/client"
import { configQuery } from "@/hooks/job/useConfig"
import { fieldsOf } from "@/lib/compare/fields"
import { jobLabels, type Compared } from "@/lib/compare/groups"
import { pauseOf } from "@/lib/compare/pause"

/** Any other text is the id of nothing. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

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
      queryFn: () => load(client, id),
      refetchInterval: ({ state }: { state: { data?: Loaded | null | undefined } }) => (state.data ? pauseOf(state.data.job, ids.length) : false),
    })),
    combine,
  })
  const jobs = useMemo(() => toCompared(data.filter((found) => found !== null && found !== undefined)), [data])
  const missing = ids.filter((_, index) => data[index] === null)
  return { jobs, missing, isPending, error, refetch: () => client.refetchQueries({ queryKey: ["compared"] }) }
}

/** Null where there is no such job, or no longer. Its values are asked for once: they change only with its shards. */
async function load(client: QueryClient, id: string): Promise<Loaded | null> {
  if (!ID.test(id)) return null
  try {
    const job = await body(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } }))
    const { effective } = await client.query({ ...configQuery(id, job.shards), staleTime: Infinity })
    return { job, effective }
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null
    throw error
  }
}

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
