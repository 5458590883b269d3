import { useQuery } from "@tanstack/react-query"
import { api, body, readMedia, type Job, type MediaItem, type MediaName } from "@/client"
import type { LoggedTable } from "@/lib/media/media"
import { againAfter } from "@/lib/api/recovery"
import { hasEnded } from "@/lib/status"

/** Processes send what they log about twice a second. */
const EVERY_MS = 3000
const PAGE = 500

/** The names of what the job's code has logged beside numbers. */
export function useMedia(job: Job) {
  return useQuery({
    queryKey: ["media", job.id, job.status, job.attempt],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/media", { params: { path: { id: job.id } } })),
    placeholderData: (before) => before,
    refetchInterval: againAfter(hasEnded(job) ? false : EVERY_MS),
  })
}

/** All items of a name that one process has logged, by step. They are read anew when there are newer ones. */
export function useMediaItems(jobId: string, { name, seq }: MediaName, rank: number) {
  return useQuery({
    queryKey: ["media items", jobId, name, rank, seq],
    queryFn: () => readItems(jobId, name, rank),
    placeholderData: (before) => before,
    staleTime: Infinity,
  })
}

async function readItems(jobId: string, name: string, rank: number): Promise<MediaItem[]> {
  const items: MediaItem[] = []
  let after: number | null = 0
  while (after !== null) {
    const page: { items: MediaItem[]; next: number | null } = await body(
      api.GET("/api/v1/jobs/{id}/media/items", { params: { path: { id: jobId }, query: { name, rank, after, limit: PAGE } } }),
    )
    items.push(...page.items)
    after = page.next
  }
  return items.sort((a, b) => a.step - b.step || a.seq - b.seq)
}

export function useHistograms(jobId: string, { name, seq }: MediaName, rank: number) {
  return useQuery({
    queryKey: ["histograms", jobId, name, rank, seq],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/media/histograms", { params: { path: { id: jobId }, query: { name, rank } } })),
    placeholderData: (before) => before,
    staleTime: Infinity,
  })
}

/** The text of an item, which never changes. */
export function useMediaText(jobId: string, seq: number) {
  return useQuery({ queryKey: ["media text", jobId, seq], queryFn: async () => (await readMedia(jobId, seq)).text(), placeholderData: (before) => before, staleTime: Infinity })
}

export function useMediaTable(jobId: string, seq: number) {
  return useQuery({
    queryKey: ["media table", jobId, seq],
    queryFn: async () => (await (await readMedia(jobId, seq)).json()) as LoggedTable,
    placeholderData: (before) => before,
    staleTime: Infinity,
  })
}
