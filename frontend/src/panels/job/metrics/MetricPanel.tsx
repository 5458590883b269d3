import { useMemo, useRef, useState } from "react"
import { ChartTable } from "@/charts/line/ChartTable"
import { LineChart, type ChartHandle } from "@/charts/line/LineChart"
import { Grip } from "@/components/arrange/Grip"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useAxisView } from "@/hooks/charts/useAxisView"
import { useBoard } from "@/hooks/charts/useBoard"
import { useChart } from "@/hooks/charts/useChart"
import { scaleOf, useChartSettings } from "@/hooks/charts/useChartSettings"
import { useMarks } from "@/hooks/charts/useMarks"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useReading } from "@/hooks/charts/useReading"
import { useOpenedFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useArrangement } from "@/hooks/views/useArrangement"
import type { AxisView } from "@/lib/charts/axes"
import type { ChartData } from "@/lib/charts/chartData"
import { toLines } from "@/lib/charts/lines"
import { meanLines, MeanSource } from "@/lib/charts/mean"
import { quantityOf, targetOf } from "@/lib/charts/metrics"
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
export function MetricPanel({ name, width, height = 230, title: given }: MetricPanelProps) {
  const metric = useMetric(name)
  const title = given ?? metric.title
  const chart = useChart(name, width)
  const [settings, change] = useChartSettings()
  const view = useAxisView(settings.axis)
  const marks = useMarks(view)
  const board = useBoard()
  const { opened } = useOpenedFeed()
  const nothing = useNothing()
  const isCompact = useArrangement() !== null
  const handle = useRef<ChartHandle>(null)
  const [table, setTable] = useState(false)
  const source = useMemo(() => (settings.lines === "mean" ? new MeanSource(chart.data, width) : chart.data), [settings.lines, chart.data, width])
  const hidden = settings.hidden.join("\n")
  const hiddenSet = useMemo(() => new Set(hidden.split("\n")), [hidden])
  const threshold = useMemo(() => targetOf(opened.spec, name), [opened.spec, name])
  const quantity = quantityOf(metric)
  return (
    <Panel
      compact={isCompact}
      title={isCompact ? <Grip title={title} /> : title}
      subtitle={
        <>
          <span title={isCompact ? metric.meaning : undefined}>{metric.meaning}</span> <LatePoint name={name} />
        </>
      }
      actions={<ChartActions name={name} title={title} chart={handle} table={table} onTable={setTable} />}
    >
      <Loaded {...chart} empty={nothing("No value has been measured")} height={height}>
        {table ? (
          <Numbers data={chart.data} width={settings.lines === "mean" ? width : null} title={title} view={view} smoothing={settings.smoothing} quantity={quantity} height={height} />
        ) : (
          <LineChart
            source={source}
            view={view}
            board={board}
            smoothing={settings.smoothing}
            scale={scaleOf(name, settings)}
            threshold={threshold}
            marks={marks}
            title={title}
            caption={`${opened.spec.name}: ${title}`}
            quantity={quantity}
            hidden={hiddenSet}
            onHide={(next) => change((now) => ({ hidden: next(now.hidden) }))}
            syncKey={`${opened.id} ${settings.axis}`}
            height={height}
            compact={isCompact}
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
  /** Width of the chart whose lines are means; else null. */
  width: number | null
  title: string
  view: AxisView
  smoothing: number
  quantity: string
  height: number
}

function Numbers({ data, width, smoothing, ...table }: NumbersProps) {
  const lines = useReading(data)
  return <ChartTable lines={toLines(width === null ? lines : meanLines(lines, width), smoothing)} {...table} />
}
