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
import { useNothing } from "@/hooks/job/useNothing"
import { axisView } from "@/lib/charts/axes"
import { Board } from "@/lib/charts/board"
import { toLines } from "@/lib/charts/lines"
import { LineSource } from "@/lib/charts/lineSource"
import { against } from "@/lib/staleness/against"
import { emptyOf, MEASURES, type Measure } from "@/lib/staleness/stale"

const COLUMNS = 400
const HEIGHT = 230

/** Loss of a worker against its staleness. */
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
  const lines = useMemo(() => against(xs, ys), [xs, ys])
  useEffect(() => source.set(lines), [source, lines])
  const handle = useRef<ChartHandle>(null)
  const nothing = useNothing()
  const { title: label } = useMetric(measure.metric)
  const view = useMemo(() => ({ ...axisView("version", 0, null), label, exact: measure.format }), [label, measure])
  const [table, setTable] = useState(false)
  const title = `Loss against ${measure.name}`
  return (
    <Panel
      title={title}
      subtitle={`A point for each worker and slice of the visible range: mean ${measure.name} to the right, mean loss upwards`}
      actions={<ChartMenu title={title} file="loss-against-staleness" chart={handle} table={table} onTable={setTable} />}
    >
      <Loaded {...staleness} isEmpty={staleness.isEmpty || loss.isEmpty} empty={emptyOf(measure, nothing)} height={HEIGHT}>
        {table ? (
          <ChartTable title={title} lines={toLines(lines, 0)} view={view} height={HEIGHT} />
        ) : (
          <LineChart
            source={source} view={view} board={board} title={title} height={HEIGHT}
            hidden={new Set(hidden)} onHide={(next) => change((now) => ({ hidden: next(now.hidden) }))} syncKey="staleness" scattered handle={handle}
          />
        )}
      </Loaded>
    </Panel>
  )
}
