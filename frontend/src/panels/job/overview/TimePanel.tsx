import { Text } from "@mantine/core"
import { StackedBars } from "@/charts/StackedBars"
import { Explained } from "@/components/messages/Explained"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { formatDuration } from "@/lib/format"
import { HATCHED, QUIET, serverBar, SLICES, workerBar } from "@/lib/job/overview"
import { isServerless, nameShard } from "@/lib/job/serverless"

const HOW =
  "All bars share one time axis, from the moment when workers could first train to the end of the last worker. Each worker measures its own time, push by push. " +
  "Start is the time before its first push, Recovering the time between two of its processes, Ended the time after its last push. Other is not measured. A shard's bar is the average over its whole run."

/** Where the time goes, process by process. */
export function TimePanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const serverless = isServerless(job)
  const nothing = useNothing()
  const { workers = [], servers = [], seconds = 0 } = overview.data ?? {}
  const bars = [...workers.map((worker) => workerBar(worker, seconds)), ...servers.map((server) => serverBar(nameShard(server, job), seconds))].filter((bar) => bar !== null)
  return (
    <Panel title={<Explained what="Time breakdown" how={HOW} />} subtitle={serverless ? "Every worker and shard in this attempt" : "Every worker and server in this attempt"}>
      <Loaded {...overview} isEmpty={bars.length === 0} empty={nothing("Nothing has been measured")}>
        <StackedBars bars={bars} order={SLICES} quiet={QUIET} hatched={HATCHED} />
        <Text size="xs" c="dimmed" mt="xs">
          Every bar is {formatDuration(seconds)} long. The percentage is a worker's share of computing, or a shard's share of applying pushes. Workers wait at
          the gate and for responses while shards apply.{serverless && " This job has no servers: worker k holds shard k, and applies pushes while it waits."}
        </Text>
      </Loaded>
    </Panel>
  )
}
