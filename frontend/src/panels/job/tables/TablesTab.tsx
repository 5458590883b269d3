import { SimpleGrid } from "@mantine/core"
import { useState } from "react"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import type { AskedKey } from "@/hooks/job/tables/useTables"
import { useTableShards } from "@/hooks/job/tables/useTableShards"
import { useChartKeys } from "@/hooks/useKeys"
import { reportedTables } from "@/lib/job/tables"
import { ChartToolbar } from "@/panels/job/metrics/ChartToolbar"
import { MetricCard } from "@/panels/job/metrics/MetricCard"
import { HottestPanel } from "./HottestPanel"
import { KeysPanel } from "./KeysPanel"
import { LookUpPanel } from "./LookUpPanel"
import { RowsPanel } from "./RowsPanel"

const CHARTS = ["rows", "candidates", "bytes", "cold", "disk", "from_disk", "memory_left", "evicted", "staleness", "staleness_highest", "applied", "counted", "asked_late", "cached"].map((name) => `table/${name}`)

/** The embedding tables at the servers: where rows went, what pushes did to them, the hottest keys, one key, and how stale rows were. */
export function TablesTab() {
  const tables = useTableShards()
  const names = useMetricNames()
  const [asked, ask] = useState<AskedKey | null>(null)
  useChartKeys()
  return (
    <>
      <ChartToolbar />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <RowsPanel {...tables} />
        <KeysPanel {...tables} />
        <HottestPanel onAsk={ask} />
        <LookUpPanel asked={asked} onAsk={ask} />
        {[...CHARTS.filter((name) => names.data.includes(name)), ...reportedTables(names.data)].map((name) => (
          <MetricCard key={name} name={name} />
        ))}
      </SimpleGrid>
    </>
  )
}
