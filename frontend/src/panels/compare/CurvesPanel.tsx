import { Text } from "@mantine/core"
import { useEffect, useMemo, useRef, useState } from "react"
import { ChartTable } from "@/charts/line/ChartTable"
import { LineChart, type ChartHandle } from "@/charts/line/LineChart"
import { ChartMenu } from "@/components/buttons/ChartMenu"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useComparedCharts } from "@/hooks/compare/useComparedCharts"
import type { ComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import { useChartKeys } from "@/hooks/useKeys"
import { toLines } from "@/lib/charts/lines"
import { LineSource } from "@/lib/charts/lineSource"
import { quantityOf, thresholdAt } from "@/lib/charts/metrics"
import { COMPARE_AXES, commonView } from "@/lib/compare/axes"
import { linesOf } from "@/lib/compare/draw"
import { groupBy, type Compared } from "@/lib/compare/groups"
import { CompareToolbar } from "./CompareToolbar"

const HEIGHT = 360
/** Columns asked of the server for each job, and places at which groups are averaged: fewer where many jobs share the width. */
const COLUMNS = 800
const COLUMNS_OF_MANY = 300
const MANY = 12
const PLACES = 200

/** One metric of all jobs, laid over each other. */
export function CurvesPanel({ jobs, metric, paths }: { jobs: readonly Compared[]; metric: ComparedMetric; paths: readonly string[] }) {
  const [comparison, change] = useComparison()
  const { axis, group, spread, smoothing, scale } = comparison
  const entry = useMetric(metric.name)
  const { title, meaning } = entry
  const quantity = quantityOf(entry)
  const range = useRestingRange()
  const plain = useMemo(() => jobs.map(({ job }) => job), [jobs])
  const width = jobs.length > MANY ? COLUMNS_OF_MANY : COLUMNS
  const charts = useComparedCharts(plain, { metric: metric.name, axis, range, width })
  const lines = useMemo(() => {
    const measured = new Map(jobs.map(({ job }, index) => [job.id, charts.data[index] ?? null]))
    return linesOf(groupBy(jobs, group), ({ job }) => measured.get(job.id) ?? null, { smoothing, spread, places: PLACES })
  }, [jobs, charts.data, group, smoothing, spread])
  const [source] = useState(() => new LineSource())
  useEffect(() => source.set(lines), [source, lines])
  const view = useMemo(() => commonView(axis), [axis])
  const hidden = comparison.hidden.join("\n")
  const hiddenSet = useMemo(() => new Set(hidden.split("\n")), [hidden])
  const threshold = useMemo(() => (metric.target === null ? null : thresholdAt(metric.target, metric.name)), [metric.target, metric.name])
  const board = useBoard()
  const handle = useRef<ChartHandle>(null)
  const [table, setTable] = useState(false)
  const grouped = group !== null
  useChartKeys()
  return (
    <Panel
      title={title}
      subtitle={meaning}
      actions={<ChartMenu title={title} file="compare" chart={handle} table={table} onTable={setTable} />}
    >
      <CompareToolbar metric={metric} paths={paths} />
      <Without jobs={jobs.filter(({ job }) => charts.withoutAxis.includes(job))} axis={COMPARE_AXES.find(({ value }) => value === axis)!.label} pending={charts.isPending} />
      <Loaded isPending={charts.isPending && lines.length === 0} error={lines.length === 0 ? charts.error : null} isEmpty={lines.length === 0} empty={`None of these jobs has measured ${metric.name} so far.`} height={HEIGHT}>
        {table ? (
          <ChartTable title={title} lines={toLines(lines, grouped ? 0 : smoothing)} view={view} quantity={quantity} height={HEIGHT} />
        ) : (
          <LineChart
            source={source} view={view} board={board} smoothing={grouped ? 0 : smoothing} scale={scale} threshold={threshold} title={title} quantity={quantity}
            hidden={hiddenSet} onHide={(next) => change((now) => ({ hidden: next(now.hidden) }))} syncKey="compare" height={HEIGHT} handle={handle}
            nothingHere="No job has a point in this range."
          />
        )}
      </Loaded>
    </Panel>
  )
}

function Without({ jobs, axis, pending }: { jobs: readonly Compared[]; axis: string; pending: boolean }) {
  if (jobs.length === 0 || pending) return null
  const why = axis === "Epochs" ? "the length of an epoch is not known" : "the number of sent bytes is not known"
  return (
    <Text size="sm" c="dimmed" mb="xs">
      No curve over {axis.toLowerCase()} for {jobs.map(({ label }) => label).join(", ")}: {why}.
    </Text>
  )
}
