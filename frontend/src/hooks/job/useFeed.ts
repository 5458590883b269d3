import { useQueryClient } from "@tanstack/react-query"
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react"
import { jobStreamUrl, type Job } from "@/client"
import { useSessionCheck } from "@/hooks/session/useSession"
import { hasEnded } from "@/lib/status"
import type { Feed } from "@/lib/stream/feed"
import { FeedStore } from "@/lib/stream/feedStore"
import type { Connection } from "@/lib/stream/stream"

export const FeedContext = createContext<FeedStore | null>(null)

/** The last messages may follow the end itself: final metrics, log tails. Then the connection is given back. */
const LINGER_MS = 15_000

/** The feed of the job, from the state in which it was read. Give it to the panels by `FeedContext`. */
export function useFeedStore(job: Job): FeedStore {
  const [store] = useState(() => new FeedStore(job, (after) => jobStreamUrl(job.id, after)))
  const [followed, setFollowed] = useState(true)
  const ended = useSyncExternalStore(store.subscribe, () => hasEnded(store.get().job))
  const gone = useSyncExternalStore(store.subscribe, () => store.get().gone)
  useAgainOnceLive(store)
  const checkSession = useSessionCheck()
  useEffect(() => (followed ? store.follow(checkSession) : undefined), [store, followed, checkSession])
  useEffect(() => {
    if (!ended && !gone) return
    const timer = window.setTimeout(() => setFollowed(false), gone ? 0 : LINGER_MS)
    return () => window.clearTimeout(timer)
  }, [ended, gone])
  return store
}

/** Queries that failed while the server was away run again when the stream is back. */
function useAgainOnceLive(store: FeedStore): void {
  const client = useQueryClient()
  const isLive = useSyncExternalStore(store.subscribe, () => store.get().connection === "live")
  useEffect(() => {
    if (isLive) void client.refetchQueries({ type: "active", predicate: ({ state }) => state.status === "error" })
  }, [client, isLive])
}

export function useFeed<T>(select: (feed: Feed) => T): T {
  const store = useOpenedFeed()
  return useSyncExternalStore(store.subscribe, () => select(store.get()))
}

export function useOpenedFeed(): FeedStore {
  const store = useContext(FeedContext)
  if (!store) throw new Error("A panel of a job stands outside its FeedContext")
  return store
}

export function useConnection(): Connection {
  return useFeed((feed) => (feed.gone || hasEnded(feed.job) ? "ended" : feed.connection))
}
