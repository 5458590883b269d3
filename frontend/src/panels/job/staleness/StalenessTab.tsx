import { SimpleGrid } from "@mantine/core"
import { useSight } from "@/hooks/charts/useSight"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useChartKeys } from "@/hooks/useKeys"
import { neverStale } from "@/lib/staleness/stale"
import { hasEnded } from "@/lib/status"
import { ChartToolbar } from "@/panels/job/metrics/ChartToolbar"
import { MetricCard } from "@/panels/job/metrics/MetricCard"
import { AgainstPanel } from "./AgainstPanel"
import { DistributionPanel } from "./DistributionPanel"
import { HeatMapPanel } from "./HeatMapPanel"
import { LedgerPanel } from "./LedgerPanel"
import { NeverStalePanel } from "./NeverStalePanel"
import { UpdatesPanel } from "./UpdatesPanel"

/** The observatory: who was how stale when, what it did to the loss, and what became of each push. */
export function StalenessTab() {
  const why = useFeed((feed) => neverStale(feed.job))
  const endedFirst = useFeed(({ job }) => hasEnded(job) && job.progress.version === 0)
  const nothing = useNothing()
  useChartKeys()
  if (endedFirst) return <Panel tour="staleness">{nothing("No push has been applied")}</Panel>
  return (
    <>
      <ChartToolbar />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        {why === null ? <Staleness /> : <NeverStalePanel why={why} />}
        <UpdatesPanel key={String(why)} by={why === null ? "staleness" : "samples"} />
        <MetricCard name="time/compute" />
        <MetricCard name="time/wait" />
        <LedgerPanel />
      </SimpleGrid>
    </>
  )
}

function Staleness() {
  return (
    <>
      <Wide />
      <MetricCard name="train/staleness" wide />
      <DistributionPanel />
      <AgainstPanel />
    </>
  )
}

/** Pixels kept free for the heat map until its height is known. */
const RESERVED = 260

function Wide() {
  const [element, { width, height = RESERVED }] = useSight<HTMLDivElement>()
  return (
    <div ref={element} style={{ gridColumn: "1 / -1", minWidth: 0, minHeight: width === null ? height : undefined }}>
      {width !== null && <HeatMapPanel width={width} />}
    </div>
  )
}
