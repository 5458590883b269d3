import { Text } from "@mantine/core"
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react"
import { ChartTable } from "@/charts/line/ChartTable"
import { LineChart, type ChartHandle } from "@/charts/line/LineChart"
import { ArrangedItems } from "@/components/arrange/ArrangedItems"
import { ChartMenu } from "@/components/buttons/ChartMenu"
import { Loaded } from "@/components/messages/Loaded"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useSight } from "@/hooks/charts/useSight"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { columnsFor, useComparedCharts } from "@/hooks/compare/useComparedCharts"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { toLines } from "@/lib/charts/lines"
import { LineSource } from "@/lib/charts/lineSource"
import { quantityOf, thresholdAt } from "@/lib/charts/metrics"
import { commonView, withoutAxis } from "@/lib/compare/axes"
import { linesOf } from "@/lib/compare/draw"
import { groupBy } from "@/lib/compare/groups"
import { ComparePanel, REMOVE } from "./ComparePanel"

const HEIGHT = 360
/** Places at which groups are averaged. */
const PLACES = 200

interface CurvesPanelProps {
  runs: Runs
  /** The metric, and the value of it that is a target. */
  name: string
  target: number | null
  controls: ReactNode
}

/** One metric of all jobs, laid over each other. */
export function CurvesPanel({ runs, name, target, controls }: CurvesPanelProps) {
  const { all, drawn: jobs } = runs
  const [comparison, change] = useComparison()
  const { axis, group, spread, smoothing, scale } = comparison
  const entry = useMetric(name)
  const { title, meaning } = entry
  const quantity = quantityOf(entry)
  const range = useRestingRange()
  const plain = useMemo(() => jobs.map(({ job }) => job), [jobs])
  const width = columnsFor(all.length)
  const [element, sight] = useSight<HTMLDivElement>()
  const inSight = sight.width !== null
  const charts = useComparedCharts(plain, { metric: name, axis, range, width, inSight })
  // Colours belong to all jobs, so that none changes when another is no longer drawn.
  const groups = useMemo(() => groupBy(all, group), [all, group])
  const lines = useMemo(() => {
    const measured = new Map(jobs.map(({ job }, index) => [job.id, charts.data[index] ?? null]))
    return linesOf(groups, ({ job }) => measured.get(job.id) ?? null, { smoothing, spread, places: PLACES })
  }, [groups, jobs, charts.data, smoothing, spread])
  const [source] = useState(() => new LineSource())
  useEffect(() => source.set(lines), [source, lines])
  const view = useMemo(() => commonView(axis), [axis])
  const hidden = comparison.hidden.join("\n")
  const hiddenSet = useMemo(() => new Set(hidden.split("\n")), [hidden])
  const threshold = useMemo(() => (target === null ? null : thresholdAt(target, name)), [target, name])
  const board = useBoard()
  const handle = useRef<ChartHandle>(null)
  const [table, setTable] = useState(false)
  const unplaced = charts.isPending ? [] : jobs.filter(({ job }) => charts.withoutAxis.includes(job))
  const without = withoutAxis(axis, unplaced, jobs.length)
  const grouped = group !== null
  const standsOut = groups.find(({ jobs }) => jobs.some(({ job }) => job.id === runs.standsOut))?.label ?? null
  return (
    <ComparePanel
      title={title}
      subtitle={meaning}
      hasMenu
      actions={<ChartMenu title={title} file="compare" chart={handle} table={table} onTable={setTable} below={<ArrangedItems hide={REMOVE} />} />}
    >
      <div ref={element}>
        {controls}
        {without && (
          <Text size="sm" c="dimmed" mb="xs">
            {without}
          </Text>
        )}
        {!inSight && lines.length === 0 ? <div style={{ height: HEIGHT }} /> : <Loaded isPending={charts.isPending && lines.length === 0} error={lines.length === 0 ? charts.error : null} isEmpty={lines.length === 0} empty={emptyOf(name, all.length > 0 && jobs.length === 0, unplaced.length > 0)} height={HEIGHT}>
          {table ? (
            <ChartTable title={title} lines={toLines(lines, grouped ? 0 : smoothing)} view={view} quantity={quantity} height={HEIGHT} />
          ) : (
            <LineChart
              source={source} view={view} board={board} smoothing={grouped ? 0 : smoothing} scale={scale} threshold={threshold} title={title} quantity={quantity}
              hidden={hiddenSet} standsOut={standsOut} onHide={(next) => change((now) => ({ hidden: next(now.hidden) }))} syncKey="compare" height={HEIGHT} handle={handle}
              nothingHere="No job has a point in this range."
            />
          )}
        </Loaded>}
      </div>
    </ComparePanel>
  )
}

function emptyOf(name: string, noneDrawn: boolean, noAxis: boolean): string {
  if (noneDrawn) return "No job is drawn. Show one in the table of jobs, or clear the ranges."
  return noAxis ? "Select another X axis to see curves." : `None of these jobs has measured ${name} so far.`
}
