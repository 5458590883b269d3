import type { JobSummary } from "@/client"
import { matches, type JobQuery } from "./jobView"

/** Values of settings and results, by the id of the job. */
export type Values = Record<string, Record<string, string | number | boolean>>

export interface JobPages {
  /** `asked`: when the page was asked for, by this browser's clock, in milliseconds. */
  pages: { items: JobSummary[]; next_cursor: string | null; total: number | null; read_at: string; asked: number; values?: Values }[]
  pageParams: unknown[]
}

/** A job that came or changed while the list was looked at, with the status that it had before. */
export interface Change {
  job: JobSummary
  before: JobSummary["status"] | undefined
  /** When this browser heard of it, in milliseconds. */
  heard: number
}

/** The pages with a job's later state in its place; the same pages if none of them has it. */
export function withChangedJob<T extends JobPages>(data: T, job: JobSummary): T {
  if (!data.pages.some(({ items }) => items.some(({ id }) => id === job.id))) return data
  const pages = data.pages.map((page) => ({ ...page, items: page.items.map((item) => (item.id === job.id && item.seq <= job.seq ? job : item)) }))
  return { ...data, pages }
}

export function withoutJobs<T extends JobPages>(data: T, gone: ReadonlySet<string>): T {
  const missing = data.pages.reduce((sum, { items }) => sum + items.filter(({ id }) => gone.has(id)).length, 0)
  if (missing === 0) return data
  const pages = data.pages.map((page) => ({ ...page, items: page.items.filter(({ id }) => !gone.has(id)), total: page.total && page.total - missing }))
  return { ...data, pages }
}

/** All jobs of all pages. One whose value has changed between two reads may stand on both: it is shown once. */
export function listed(data: JobPages | undefined): JobSummary[] {
  const found = new Map<string, JobSummary>()
  for (const page of data?.pages ?? []) for (const job of page.items) if (!found.has(job.id)) found.set(job.id, job)
  return [...found.values()]
}

export function valuesOf(data: JobPages | undefined): Values {
  return Object.assign({}, ...(data?.pages ?? []).map(({ values }) => values ?? {})) as Values
}

/** The jobs that a new read of the list would show and this one does not: submitted since, or changed into a status that is asked for. */
export function newcomers(changes: Iterable<Change>, query: JobQuery, data: JobPages | undefined): JobSummary[] {
  const first = data?.pages[0]
  if (!first) return []
  const known = new Set(listed(data).map(({ id }) => id))
  const came = ({ job, before, heard }: Change) =>
    Date.parse(job.created_at) > Date.parse(first.read_at) ||
    (heard > first.asked && query.status.length > 0 && before !== undefined && !query.status.includes(before))
  return [...changes].filter((change) => !known.has(change.job.id) && matches(query, change.job) && came(change)).map(({ job }) => job)
}
