import { Progress } from "@mantine/core"
import type { ReactNode } from "react"
import type { JobSummary } from "@/client"
import { Sparkline } from "@/components/display/Sparkline"
import { StatusBadge } from "@/components/display/StatusBadge"
import { NONE, formatAccuracy, formatAgo, formatCount, formatDuration, formatFigure, formatPercent, secondsBetween } from "@/lib/format"
import { share } from "@/lib/job/progress"
import type { ColumnId } from "@/lib/jobs/jobColumns"
import { hasEnded, isExplained, readable, toneOf } from "@/lib/status"
import classes from "./JobsGrid.module.css"

/** Content of a column of a job; `now` in milliseconds. */
export const CELLS: Record<ColumnId, (job: JobSummary, now: number) => ReactNode> = {
  status: (job) => <Status job={job} />,
  strategy: ({ strategy, gate }) => (
    <>
      {strategy} <small>{gate}</small>
    </>
  ),
  user: ({ user }) => user,
  workers: ({ workers }) => formatCount(workers),
  priority: ({ priority }) => formatCount(priority),
  progress: (job) => <Done job={job} />,
  loss: ({ name, progress }) => (
    <>
      <Sparkline values={progress.loss_curve ?? []} label={`Loss of ${name} over time`} />
      <span>{progress.not_finite?.length ? "NaN" : formatFigure(progress.loss)}</span>
    </>
  ),
  accuracy: ({ progress }) => <MainMetric progress={progress} />,
  throughput: ({ progress }) => formatFigure(progress.samples_per_second),
  staleness: ({ progress }) => formatFigure(progress.mean_staleness),
  time: ({ started_at, ended_at }, now) => formatDuration(secondsBetween(started_at, ended_at ?? now)),
  age: ({ created_at }, now) => formatAgo(created_at, now),
}

/** Why it waits or failed stands beside it as far as there is space; the whole sentence, where one points at the row. */
function Status({ job: { status, reason, position } }: { job: JobSummary }) {
  const why = isExplained(status) ? reason && readable(reason) : null
  return (
    <span className={classes.status}>
      <StatusBadge status={status} />
      {why && <small>{position ? `#${position}, ${why}` : why}</small>}
    </span>
  )
}

/** The metric that the job is judged by; its name stands beside it unless it is the accuracy. */
function MainMetric({ progress: { main_metric, eval: evaluation } }: { progress: JobSummary["progress"] }) {
  const value = main_metric ? evaluation?.[main_metric] : null
  if (!main_metric || value === null || value === undefined) return NONE
  if (main_metric === "accuracy") return formatAccuracy(value)
  return (
    <>
      <small title={`eval/${main_metric}`}>{main_metric}</small> {formatFigure(value)}
    </>
  )
}

function Done({ job }: { job: JobSummary }) {
  const done = share(job)
  if (done === null) return NONE
  return (
    <>
      <Progress
        value={done * 100}
        color={toneOf(job.status) === "bad" ? "red" : undefined}
        size="sm"
        flex={1}
        animated={!hasEnded(job)}
        aria-label={`Progress of ${job.name}`}
      />
      <small>{formatPercent(done, 0)}</small>
    </>
  )
}

interface FieldValueProps {
  job: JobSummary
  field: string
  /** As the list was read. */
  value: string | number | boolean | undefined
}

/** A setting or result. The last evaluation comes with each change of the job, others with the list. */
export function FieldValue({ job, field, value }: FieldValueProps) {
  const live = field.startsWith("eval/") ? job.progress.eval?.[field.slice("eval/".length)] : undefined
  const shown = live ?? value
  if (shown === undefined) return NONE
  const text = typeof shown === "number" ? formatField(shown) : String(shown)
  return <span className={classes.text} title={String(shown)}>{text}</span>
}

/** Settings are written as in the job file; what was measured has more digits than one compares. */
function formatField(value: number): string {
  return String(value).length <= 7 ? String(value) : formatFigure(value)
}
