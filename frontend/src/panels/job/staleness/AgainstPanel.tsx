import { useEffect, useState } from "react"
import { LineChart } from "@/charts/LineChart"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useChart } from "@/hooks/useChart"
import { useChartSettings } from "@/hooks/useChartSettings"
import { useReading } from "@/hooks/useReading"
import { against } from "@/lib/against"
import { axisView } from "@/lib/axes"
import { Board } from "@/lib/board"
import { formatNumber } from "@/lib/format"
import { LineSource } from "@/lib/lineSource"

const STALENESS = axisView("version", 0, null)
const COLUMNS = 400

/** Whether stale workers see another loss than fresh ones. */
export function AgainstPanel() {
  const staleness = useChart("train/staleness", COLUMNS)
  const loss = useChart("train/loss", COLUMNS)
  const [xs, ys] = [useReading(staleness.data), useReading(loss.data)]
  const [{ hidden }, change] = useChartSettings()
  const [source] = useState(() => new LineSource())
  const [board] = useState(() => new Board(null))
  useEffect(() => source.set(against(xs, ys)), [source, xs, ys])
  return (
    <Panel title="Loss against staleness" subtitle="A point for each worker and slice of the visible range: mean staleness to the right, mean loss upwards">
      <Loaded {...staleness} isEmpty={staleness.isEmpty || loss.isEmpty} empty="No push has been applied yet." height={230}>
        <LineChart
          source={source} view={STALENESS} board={board} title="Loss against staleness" formatY={formatNumber}
          hidden={new Set(hidden)} onHide={(names) => change({ hidden: names })} syncKey="staleness" scattered
        />
      </Loaded>
    </Panel>
  )
}
