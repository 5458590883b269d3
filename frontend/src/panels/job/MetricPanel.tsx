import { useMemo, useRef, useState } from "react"
import { ChartTable } from "@/charts/ChartTable"
import { LineChart, type ChartHandle } from "@/charts/LineChart"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useMetric } from "@/hooks/queries/useMetricCatalogue"
import { useAxisView } from "@/hooks/useAxisView"
import { useBoard } from "@/hooks/useBoard"
import { useChart } from "@/hooks/useChart"
import { scaleOf, useChartSettings } from "@/hooks/useChartSettings"
import { useOpenedFeed } from "@/hooks/useFeed"
import { useNothing } from "@/hooks/useNothing"
import { useReading } from "@/hooks/useReading"
import type { AxisView } from "@/lib/axes"
import type { ChartData } from "@/lib/chartData"
import { toLines } from "@/lib/lines"
import { formatOf, metricTitle, targetOf } from "@/lib/metrics"
import { ChartActions } from "./ChartActions"
import { LatePoint } from "./LatePoint"
import { NearestPoint } from "./NearestPoint"

interface MetricPanelProps {
  name: string
  /** Pixels, roughly: what columns are asked for. */
  width: number
  height?: number
  title?: string
}

/** One metric over the training, a line per worker or source. */
export function MetricPanel({ name, width, height = 230, title = metricTitle(name) }: MetricPanelProps) {
  const metric = useMetric(name)
  const chart = useChart(name, width)
  const [settings, change] = useChartSettings()
  const view = useAxisView(settings.axis)
  const board = useBoard()
  const { opened } = useOpenedFeed()
  const nothing = useNothing()
  const handle = useRef<ChartHandle>(null)
  const [table, setTable] = useState(false)
  const hidden = settings.hidden.join("\n")
  const hiddenSet = useMemo(() => new Set(hidden.split("\n")), [hidden])
  const threshold = useMemo(() => targetOf(opened.spec, name), [opened.spec, name])
  const formatY = useMemo(() => formatOf(metric.unit), [metric.unit])
  const unit = metric.unit === "1" || metric.unit === "loss" ? "" : metric.unit
  return (
    <Panel
      title={title}
      subtitle={
        <>
          {[metric.meaning, unit].filter(Boolean).join(" · ")} <LatePoint name={name} />
        </>
      }
      actions={<ChartActions name={name} title={title} chart={handle} table={table} onTable={setTable} />}
    >
      <Loaded {...chart} empty={nothing("No value has been measured")} height={height}>
        {table ? (
          <Numbers data={chart.data} title={title} view={view} smoothing={settings.smoothing} formatY={formatY} height={height} />
        ) : (
          <LineChart
            source={chart.data}
            view={view}
            board={board}
            smoothing={settings.smoothing}
            scale={scaleOf(name, settings)}
            threshold={threshold}
            title={title}
            formatY={formatY}
            hidden={hiddenSet}
            onHide={(names) => change({ hidden: names })}
            syncKey={`${opened.id} ${settings.axis}`}
            height={height}
            nothingHere={chart.isStale ? null : <NearestPoint name={name} view={view} />}
            handle={handle}
          />
        )}
      </Loaded>
    </Panel>
  )
}

interface NumbersProps {
  data: ChartData
  title: string
  view: AxisView
  smoothing: number
  formatY: (y: number) => string
  height: number
}

function Numbers({ data, smoothing, ...table }: NumbersProps) {
  return <ChartTable lines={toLines(useReading(data), smoothing)} {...table} />
}
