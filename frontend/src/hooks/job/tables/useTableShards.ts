import { useColumns } from "@/hooks/charts/useChart"
import { useReading } from "@/hooks/charts/useReading"
import { TABLE_METRICS, tableShards, type TableMetric } from "@/lib/job/tables"

/** Only the latest values are wanted. */
const COLUMNS = 50

/** The embedding tables of each server, as their latest metrics tell. */
export function useTableShards() {
  const found = TABLE_METRICS.map(useLatest) // always the same metrics in the same order
  const latest = new Map(TABLE_METRICS.map((name, place) => [name, found[place]!.latest]))
  return { chart: found[0]!.chart, shards: tableShards(latest) }
}

/** Latest value by source; over time, so that the live attempt's is the last. */
function useLatest(name: TableMetric) {
  const chart = useColumns(`table/${name}`, "time", null, COLUMNS)
  const lines = useReading(chart.data)
  return { chart, latest: new Map(lines.flatMap(({ source, latest }) => (latest === null ? [] : [[source, latest] as const]))) }
}
