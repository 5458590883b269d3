import { Text } from "@mantine/core"
import { Explained } from "@/components/Explained"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { StackedBars } from "@/charts/StackedBars"
import { useOverview } from "@/hooks/queries/useOverview"
import { useFeed } from "@/hooks/useFeed"
import { useNothing } from "@/hooks/useNothing"
import { formatDuration } from "@/lib/format"
import { HATCHED, QUIET, serverBar, SLICES, workerBar } from "@/lib/overview"

const HOW =
  "All bars share one time axis: from when the workers of this attempt could begin until the last of them ended. A worker measures itself, push by push. " +
  "Start is the time until its first push, Ended the time after its last. Other is not measured. A shard's bar is the average over its life."

/** Where the time goes, process by process. */
export function TimePanel() {
  const overview = useOverview(useFeed((feed) => feed.job))
  const nothing = useNothing()
  const { workers = [], servers = [], seconds = 0 } = overview.data ?? {}
  const bars = [...workers.map((worker) => workerBar(worker, seconds)), ...servers.map((server) => serverBar(server, seconds))].filter((bar) => bar !== null)
  return (
    <Panel title={<Explained what="Where the time goes" how={HOW} />} subtitle="Of every worker and shard in this attempt">
      <Loaded {...overview} isEmpty={bars.length === 0} empty={nothing("Nothing has been measured")}>
        <StackedBars bars={bars} order={SLICES} quiet={QUIET} hatched={HATCHED} />
        <Text size="xs" c="dimmed" mt="xs">
          Every bar is {formatDuration(seconds)} long. The number beside it is the share of computing, and of applying for a shard. Workers wait at the gate and for
          answers; shards apply meanwhile.
        </Text>
      </Loaded>
    </Panel>
  )
}
