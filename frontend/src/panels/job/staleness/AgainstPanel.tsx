import { useEffect, useMemo, useRef, useState } from "react"
import { ChartTable } from "@/charts/line/ChartTable"
import { LineChart, type ChartHandle } from "@/charts/line/LineChart"
import { ChartMenu } from "@/components/buttons/ChartMenu"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useChart } from "@/hooks/charts/useChart"
import { useChartSettings } from "@/hooks/charts/useChartSettings"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useReading } from "@/hooks/charts/useReading"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { axisView } from "@/lib/charts/axes"
import { Board } from "@/lib/charts/board"
import { toLines } from "@/lib/charts/lines"
import { LineSource } from "@/lib/charts/lineSource"
import { excessByStaleness } from "@/lib/staleness/against"
import { emptyOf, MEASURES, type Measure } from "@/lib/staleness/stale"

const COLUMNS = 400
const HEIGHT = 230
const HOW =
  "A worker's loss in a slice of the visible range, minus the running mean of all workers there, by the worker's staleness; the band is a 95 % confidence interval. " +
  "It shows how far behind the parameters of stale workers are, not what their pushes do to the model."
const LEVEL = { value: 0, label: "mean of all workers" }
const FEW = "There are too few values to compare: it takes two workers, and two different values of staleness."

/** Loss above the mean of all workers against staleness: the question whether stale workers learn worse, without training progress. */
export function AgainstPanel() {
  const [{ measure }] = useChartSettings()
  return <Against key={measure} measure={MEASURES[measure]} />
}

function Against({ measure }: { measure: Measure }) {
  const staleness = useChart(measure.metric, COLUMNS)
  const loss = useChart("train/loss", COLUMNS)
  const [xs, ys] = [useReading(staleness.data), useReading(loss.data)]
  const [{ hidden }, change] = useChartSettings()
  const [source] = useState(() => new LineSource())
  const [board] = useState(() => new Board(null))
  const lines = useMemo(() => excessByStaleness(xs, ys), [xs, ys])
  useEffect(() => source.set(lines), [source, lines])
  const job = useFeed((feed) => feed.job.spec.name)
  const handle = useRef<ChartHandle>(null)
  const nothing = useNothing()
  const read = (staleness.isEmpty || xs.length > 0) && (loss.isEmpty || ys.length > 0)
  const { title: name } = useMetric(measure.metric)
  const label = [name, measure.unit].filter(Boolean).join(", ")
  const view = useMemo(() => ({ ...axisView("version", 0, null), label, exact: measure.format }), [label, measure])
  const [table, setTable] = useState(false)
  const title = `Excess loss against ${measure.name}`
  return (
    <Panel
      wide
      title={title}
      subtitle={HOW}
      actions={<ChartMenu title={title} file="loss-against-staleness" chart={handle} table={table} onTable={setTable} />}
    >
      <Loaded {...staleness} isPending={staleness.isPending || loss.isPending || (lines.length === 0 && !read)} isEmpty={lines.length === 0} empty={staleness.isEmpty || loss.isEmpty ? emptyOf(measure, nothing) : FEW} height={HEIGHT}>
        {table ? (
          <ChartTable title={title} lines={toLines(lines, 0)} view={view} height={HEIGHT} />
        ) : (
          <LineChart
            source={source} view={view} board={board} title={title} valueTitle="Excess loss" caption={`${job}: ${title}`} height={HEIGHT}
            hidden={new Set(hidden)} onHide={(next) => change((now) => ({ hidden: next(now.hidden) }))} syncKey="staleness" quantity="loss" threshold={LEVEL} binned handle={handle}
          />
        )}
      </Loaded>
    </Panel>
  )
}
