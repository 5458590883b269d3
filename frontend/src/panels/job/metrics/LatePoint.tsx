import { Text } from "@mantine/core"
import { useConnection, useFeed, useOpenedFeed } from "@/hooks/job/useFeed"
import { useNow } from "@/hooks/useNow"
import { formatDuration } from "@/lib/format"

const LATE_MS = 8000

/** Says so when points that should come do not. A metric with one point is not late, as long as others come. */
export function LatePoint({ name }: { name: string }) {
  const { live, followedAt } = useOpenedFeed()
  const running = useFeed(({ job }) => job.status === "running")
  const connection = useConnection()
  const now = useNow(running)
  const heard = live.heardAt(name)
  const since = heard ?? (live.names().length === 0 ? followedAt : now)
  if (!running || now - since < LATE_MS) return null
  const silent = formatDuration((now - since) / 1000)
  return (
    <Text component="span" size="xs" c="var(--gs-wait)" className="numbers">
      {connection === "reconnecting" ? "reconnecting, " : ""}
      {heard === null ? `no point for ${silent}` : `last point ${silent} ago`}
    </Text>
  )
}
