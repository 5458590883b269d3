import { useInfiniteQuery } from "@tanstack/react-query"
import { useEffect, useMemo, useState, useSyncExternalStore } from "react"
import { api, body } from "@/client"
import { LogStore } from "@/lib/logs/logStore"
import { useFeed, useOpenedFeed } from "./useFeed"

/** Lines of one portion, from the end back. */
const PORTION = 2000

/** All output of the job: its end at first, older lines portion by portion when asked, and what is written meanwhile. */
export function useLogs() {
  const { opened } = useOpenedFeed()
  const live = useFeed((feed) => feed.logs)
  const [store] = useState(() => new LogStore())
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage, ...query } = useInfiniteQuery({
    queryKey: ["logs", opened.id, opened.seq],
    queryFn: ({ pageParam }) => body(api.GET("/api/v1/jobs/{id}/logs", { params: { path: { id: opened.id }, query: { tail: PORTION, before: pageParam } } })),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.earlier,
    staleTime: Infinity,
    gcTime: 0,
  })
  const history = useMemo(() => data?.pages.toReversed().flatMap(({ items }) => items), [data])
  useEffect(() => {
    if (history) store.read(history)
  }, [store, history])
  useEffect(() => store.follow(live), [store, live])
  const snapshot = useSyncExternalStore(store.subscribe, store.get)
  return { ...query, snapshot, readOlder: fetchNextPage, hasOlder: hasNextPage, isReadingOlder: isFetchingNextPage }
}
