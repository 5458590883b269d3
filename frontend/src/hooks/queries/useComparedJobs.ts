import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query"
import { useMemo } from "react"
import { api, body, Problem, type Job } from "@/client"
import { fieldsOf } from "@/lib/compare/fields"
import { jobLabels, type Compared } from "@/lib/compare/groups"
import { pauseOf } from "@/lib/compare/pause"

/** Any other text is the id of nothing. */
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The jobs of a comparison, kept up to date while they run, and the ids at which there is none. */
export function useComparedJobs(ids: readonly string[]) {
  const client = useQueryClient()
  const { data, isPending, error } = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["compared", id],
      queryFn: () => load(id),
      refetchInterval: ({ state }: { state: { data?: Job | null | undefined } }) => (state.data ? pauseOf(state.data, ids.length) : false),
    })),
    combine,
  })
  const jobs = useMemo(() => toCompared(data.filter((job) => job !== null && job !== undefined)), [data])
  const missing = ids.filter((_, index) => data[index] === null)
  return { jobs, missing, isPending, error, refetch: () => client.refetchQueries({ queryKey: ["compared"] }) }
}

/** Null where there is no such job, or no longer. */
async function load(id: string): Promise<Job | null> {
  if (!ID.test(id)) return null
  try {
    return await body(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } }))
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null
    throw error
  }
}

function combine(results: UseQueryResult<Job | null>[]) {
  return {
    data: results.map(({ data }) => data),
    isPending: results.some(({ isPending }) => isPending),
    error: results.find(({ data, error }) => error && data === undefined)?.error ?? null,
  }
}

function toCompared(jobs: Job[]): Compared[] {
  const labels = jobLabels(jobs)
  return jobs.map((job, index) => ({ job, fields: fieldsOf(job.spec), label: labels[index]! }))
}
