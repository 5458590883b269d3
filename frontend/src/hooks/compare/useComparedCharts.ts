import { useQueries, type UseQueryResult } from "@tanstack/react-query"
import { useMemo } from "react"
import { api, body, type Job } from "@/client"
import type { Range } from "@/lib/charts/axes"
import type { ChartAnswer } from "@/lib/charts/chartData"
import { gather } from "@/lib/api/gather"
import { againAfter } from "@/lib/api/recovery"
import { fromWire } from "@/lib/charts/columns"
import { askedAxis, jobAxis, serverRange, type CompareAxis } from "@/lib/compare/axes"
import { sentUntil } from "@/lib/compare/bytes"
import { latestOf, summaryOf, together, type Curve } from "@/lib/compare/curves"
import type { JobColumns } from "@/lib/compare/draw"
import { pauseOf } from "@/lib/compare/pause"
import type { MetricSummary } from "@/lib/compare/runs"

const SENT = "push/sent_bytes"
/** Columns that hold what was sent: the places at which bytes are exact. */
const SENT_COLUMNS = 1000

/** Columns asked of the server for each job: fewer where many jobs share the width. */
const COLUMNS = 800
const COLUMNS_OF_MANY = 300
const MANY = 12

export function columnsFor(jobs: number): number {
  return jobs > MANY ? COLUMNS_OF_MANY : COLUMNS
}

/** Jobs in one request: a page has a few requests under way, and the first lines wait for the first of them only. */
const AT_ONCE = 17
const MOMENT_MS = 10

interface Question {
  name: string
  x: ReturnType<typeof askedAxis>
  columns: number
}

const askChart = gather(
  async (job: string[], { name, x, columns, range }: Question & { range: Range | null }): Promise<Chart[]> =>
    (await body(api.GET("/api/v1/compare/charts", { params: { query: { job, name, x, columns, from: range?.from, to: range?.to } } }))).items,
  MOMENT_MS,
  AT_ONCE,
)

interface Wanted {
  metric: string
  axis: CompareAxis
  /** Range of the common axis; null: all there is. */
  range: Range | null
  width: number
  /** False: nothing is asked for, as the panel is out of sight. */
  inSight?: boolean
}

type Chart = ChartAnswer & { name: string; from: number | null; to: number | null }

/** Measured columns of each job, on the common axis, in their order; null: nothing, or the job has no such axis. */
export function useComparedCharts(jobs: readonly Job[], { metric, axis, range, width, inSight = true }: Wanted) {
  const sent = useCharts(axis === "bytes" ? jobs : NONE, { name: SENT, x: "time", columns: SENT_COLUMNS }, () => null, inSight)
  const axes = useMemo(
    () => jobs.map((job, index) => jobAxis(axis, job, axis === "bytes" ? sentCurve(sent.data[index]) : null)),
    [jobs, axis, sent.data],
  )
  const found = useCharts(jobs, { name: metric, x: askedAxis(axis), columns: width }, (index) => serverRange(range, axes[index]!), inSight)
  const data = useMemo(
    () => jobs.map((_, index): JobColumns | null => (found.data[index] && axes[index] ? joined(found.data[index], axes[index].toCommon, width) : null)),
    [jobs, axes, found.data, width],
  )
  return { data, withoutAxis: jobs.filter((_, index) => axes[index] === null), isPending: found.isPending || sent.isPending, error: found.error ?? sent.error }
}

/** Last, lowest and highest value of each job by its id. It asks what the chart that shows all asks, so both share the responses. */
export function useMetricSummaries(jobs: readonly Job[], { metric, axis, width }: Omit<Wanted, "range" | "inSight">): ReadonlyMap<string, MetricSummary> {
  const { data } = useCharts(jobs, { name: metric, x: askedAxis(axis), columns: width }, () => null, true)
  return useMemo(() => new Map(jobs.flatMap(({ id }, index) => (data[index] ? [[id, summaryOf(data[index].series)] as const] : []))), [jobs, data])
}

const NONE: readonly Job[] = []

function useCharts(jobs: readonly Job[], asked: Question, rangeOf: (index: number) => Range | null, enabled: boolean) {
  return useQueries({
    queries: jobs.map((job, index) => {
      const range = rangeOf(index)
      return {
        queryKey: ["compared chart", job.id, asked, range],
        queryFn: () => askChart(job.id, { ...asked, range }),
        enabled,
        refetchInterval: againAfter(() => pauseOf(job, jobs.length)),
        staleTime: Infinity,
        // While another range is on its way, what is there stays; of another metric or axis it says nothing.
        placeholderData: (before: Chart | undefined) => (before?.name === asked.name ? before : undefined),
      }
    }),
    combine,
  })
}

function combine(results: UseQueryResult<Chart>[]) {
  return {
    data: results.map(({ data }) => data),
    isPending: results.some(({ isPending }) => isPending),
    error: results.find(({ data, error }) => error && data === undefined)?.error ?? null,
  }
}

function joined({ series }: Chart, toCommon: (x: number) => number, width: number): JobColumns | null {
  const lines = series.map(({ columns }) => fromWire(columns)).filter(({ x }) => x.length > 0)
  if (lines.length === 0) return null
  const columns = together(lines, width)
  return {
    columns: { ...columns, x: columns.x.map(toCommon) },
    total: series.reduce((sum, { total }) => sum + total, 0),
    latest: latestOf(series),
  }
}

function sentCurve(chart: Chart | undefined): Curve | null {
  if (chart?.from == null || chart.to === null) return null
  const { from, to } = chart
  return sentUntil(chart.series.map(({ columns }) => ({ from, to, width: SENT_COLUMNS, columns: fromWire(columns) })))
}
