import { Text } from "@mantine/core"
import { useConnection, useFeed, useOpenedFeed } from "@/hooks/useFeed"
import { useNow } from "@/hooks/useNow"
import { formatDuration } from "@/lib/format"

const LATE_MS = 8000

/** Says so when points that should come do not. */
export function LatePoint({ name }: { name: string }) {
  const { live, followedAt } = useOpenedFeed()
  const running = useFeed(({ job }) => job.status === "running")
  const connection = useConnection()
  const now = useNow(running)
  const silent = now - (live.heardAt(name) ?? followedAt)
  if (!running || silent < LATE_MS) return null
  return (
    <Text component="span" size="xs" c="var(--gs-wait)" className="numbers">
      {connection === "reconnecting" ? "reconnecting, " : ""}
      {live.heardAt(name) === null ? "no point for" : "last point"} {formatDuration(silent / 1000)}
      {live.heardAt(name) === null ? "" : " ago"}
    </Text>
  )
}
