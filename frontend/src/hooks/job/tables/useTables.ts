import { useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

/** Servers summarize their rows about every 30 s. */
const EVERY_MS = 10_000

/** The embedding tables of a job, as its servers summarize them. */
export function useTables(job: Job) {
  return useQuery({
    queryKey: ["tables", job.id, job.status, job.attempt],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/tables", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
  })
}

/** A key as somebody typed it: a number, or a text that is hashed with a field. */
export interface AskedKey {
  typed: string
  /** The field of the hash; null: a number was typed. */
  field: string | null
  /** Null: all tables. */
  table: string | null
  /** The moment at which it was asked, so that the same key is looked up anew. */
  at: number
}

/** One key in the newest export and checkpoint, once somebody has asked. */
export function useTableKey(jobId: string, asked: AskedKey | null) {
  return useQuery({
    queryKey: ["table key", jobId, asked],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/tables/keys", { params: { path: { id: jobId }, query: query(asked!) } })),
    enabled: asked !== null,
    retry: false,
    staleTime: Infinity,
  })
}

function query({ typed, field, table }: AskedKey) {
  const key = field === null ? { key: typed } : { text: typed, ...(field && { field }) }
  return { ...key, ...(table !== null && { table }) }
}
