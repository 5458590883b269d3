import { SimpleGrid } from "@mantine/core"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import { useTableShards } from "@/hooks/job/useTableShards"
import { useChartKeys } from "@/hooks/useKeys"
import { reportedTables } from "@/lib/job/tables"
import { ChartToolbar } from "@/panels/job/metrics/ChartToolbar"
import { MetricCard } from "@/panels/job/metrics/MetricCard"
import { KeysPanel } from "./KeysPanel"
import { RowsPanel } from "./RowsPanel"

const CHARTS = ["rows", "candidates", "bytes", "cold", "disk", "from_disk", "evicted", "staleness", "staleness_highest", "applied", "counted", "asked_late", "cached"].map((name) => `table/${name}`)

/** The embedding tables at the servers: where rows went, what pushes did to them, and how stale they were. */
export function TablesTab() {
  const tables = useTableShards()
  const names = useMetricNames()
  useChartKeys()
  return (
    <>
      <ChartToolbar />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <RowsPanel {...tables} />
        <KeysPanel {...tables} />
        {[...CHARTS.filter((name) => names.data.includes(name)), ...reportedTables(names.data)].map((name) => (
          <MetricCard key={name} name={name} />
        ))}
      </SimpleGrid>
    </>
  )
}
