import type { DataLine } from "@/lib/charts/chartData"
import type { Columns } from "@/lib/charts/columns"
import { smooth } from "@/lib/charts/smoothing"
import { bandOf, commonGrid, type Curve, type Spread } from "./curves"
import type { Compared, JobGroup } from "./groups"

/** Measured columns of one job, on the common axis. */
export interface JobColumns {
  columns: Columns
  /** Points in all. */
  total: number
  latest: number | null
}

interface Drawing {
  smoothing: number
  spread: Spread
  /** Places of the grid on which groups are averaged. */
  places: number
}

/** A line for each group: a job alone as it was measured, several by their mean and spread. */
export function linesOf(groups: readonly JobGroup[], measured: (job: Compared) => JobColumns | null, { smoothing, spread, places }: Drawing): DataLine[] {
  const found = groups.map(({ jobs, ...named }) => ({ ...named, jobs: jobs.map(measured).filter((job) => job !== null && job.columns.x.length > 0) as JobColumns[] }))
  const grouped = groups.some(({ jobs }) => jobs.length > 1)
  const curves = found.map(({ jobs }) => (grouped ? jobs.map(({ columns }) => smoothed(columns, smoothing)) : []))
  const grid = commonGrid(curves.flat(), places)
  return found.flatMap(({ label, index, jobs }, place) => {
    if (jobs.length === 0) return []
    const named = { source: label, rank: -1, label, index, total: jobs.reduce((sum, { total }) => sum + total, 0) }
    if (!grouped) return [{ ...named, columns: jobs[0]!.columns, latest: jobs[0]!.latest }]
    const { x, mean, low, high } = bandOf(curves[place]!, grid, spread)
    const none = x.map(() => 0)
    const columns: Columns = { x, mean, low, high, first: mean, last: mean, count: none.map(() => 1), odd: none }
    return [{ ...named, columns, latest: meanOf(jobs.flatMap(({ latest }) => latest ?? [])), spread: true }]
  })
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Noise of mini-batches is taken off each job before jobs are compared: the spread is that between jobs. */
function smoothed(columns: Columns, smoothing: number): Curve {
  return { x: columns.x, y: smoothing > 0 ? smooth(columns, smoothing) : columns.mean }
}
