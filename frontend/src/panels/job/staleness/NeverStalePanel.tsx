import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useOverview } from "@/hooks/job/useOverview"
import { waitedFor } from "@/lib/staleness/waits"

/** Stands for the whole observatory in a job in which no push is stale: why, and which workers waited for which. */
export function NeverStalePanel({ why }: { why: string }) {
  const job = useFeed((feed) => feed.job)
  const { data } = useOverview(job)
  return (
    <Panel wide tour="staleness">
      {why} {waitedFor(data?.workers ?? [])}
    </Panel>
  )
}
