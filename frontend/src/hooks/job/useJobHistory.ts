/** The data of a job page: the part before the page was opened, read once, and what its stream has told since. */
import { useQuery } from "@tanstack/react-query"
import { useMemo } from "react"
import { api, body } from "@/client"
import { mergeBySeq, mergeProcesses } from "@/lib/stream/feed"
import { useFeed, useOpenedFeed } from "./useFeed"

const NONE: readonly never[] = []

/** The history belongs to this opening of the page: an older one would leave a gap before the stream's beginning. */
function useOnce<T>(what: string, load: (id: string) => Promise<T>) {
  const { opened } = useOpenedFeed()
  return useQuery({ queryKey: ["job", opened.id, opened.seq, what], queryFn: () => load(opened.id), staleTime: Infinity, gcTime: 0 })
}

export function useEvents() {
  const { data, ...query } = useOnce("events", (id) => body(api.GET("/api/v1/jobs/{id}/events", { params: { path: { id } } })))
  const live = useFeed((feed) => feed.events)
  return { ...query, data: useMemo(() => mergeBySeq(data?.items ?? NONE, live), [data, live]) }
}

export function useProcesses() {
  const { data, ...query } = useOnce("processes", (id) => body(api.GET("/api/v1/jobs/{id}/processes", { params: { path: { id } } })))
  const live = useFeed((feed) => feed.processes)
  return { ...query, data: useMemo(() => mergeProcesses(data?.items ?? NONE, live), [data, live]) }
}
