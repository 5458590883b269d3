import { Text } from "@mantine/core"
import { Explained } from "@/components/Explained"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { StackedBars } from "@/charts/StackedBars"
import { useOverview } from "@/hooks/queries/useOverview"
import { useFeed } from "@/hooks/useFeed"
import { useNothing } from "@/hooks/useNothing"
import { QUIET, serverBar, SLICES, workerBar } from "@/lib/overview"

const HOW =
  "Of each worker since its first push in this attempt: what it measured of itself, push by push. Other is what nobody measured, such as the loop itself. " +
  "Of each shard: lately, the time that it applied pushes."

/** Where the time goes, process by process. */
export function TimePanel() {
  const overview = useOverview(useFeed((feed) => feed.job))
  const nothing = useNothing()
  const { workers = [], servers = [] } = overview.data ?? {}
  const bars = [...workers.map(workerBar), ...servers.map(serverBar)].filter((bar) => bar !== null)
  return (
    <Panel title={<Explained what="Where the time goes" how={HOW} />} subtitle="Of every worker and shard in this attempt">
      <Loaded {...overview} isEmpty={bars.length === 0} empty={nothing("Nothing has been measured")}>
        <StackedBars bars={bars} order={SLICES} quiet={QUIET} />
        <Text size="xs" c="dimmed" mt="xs">
          Beside each bar: the share of computing, or of a shard that of applying. Waiting is time at the gate and for answers; applying happens meanwhile, on the shards.
        </Text>
      </Loaded>
    </Panel>
  )
}
