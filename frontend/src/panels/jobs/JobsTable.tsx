import { Progress } from "@mantine/core"
import { Link } from "react-router"
import type { Job } from "@/client"
import { StatusBadge } from "@/components/StatusBadge"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatDuration, formatNumber, formatPercent, secondsBetween } from "@/lib/format"
import { share } from "@/lib/progress"
import { hasEnded, readable } from "@/lib/status"
import classes from "./JobsTable.module.css"

/** A list, not a <table>: on a narrow screen each job becomes a card. The whole row leads to the job. */
export function JobsTable({ jobs }: { jobs: readonly Job[] }) {
  const now = useNow()
  return (
    <ul className={classes.jobs} aria-label="Jobs">
      <li className={classes.head} aria-hidden>
        <span>Job</span>
        <span>Status</span>
        <span>Progress</span>
        <span>Loss</span>
        <span>Accuracy</span>
        <span>Staleness</span>
        <span>Time</span>
      </li>
      {jobs.map((job) => (
        <Row key={job.id} job={job} now={now} />
      ))}
    </ul>
  )
}

function Row({ job, now }: { job: Job; now: number }) {
  const { id, name, status, strategy, gate, progress, created_at, started_at, ended_at, reason, position } = job
  const done = share(job)
  const ran = secondsBetween(started_at, ended_at ?? now)
  const why = status === "queued" || status === "failed" ? reason && readable(reason) : null
  return (
    <li>
      <Link to={`/jobs/${id}`} className={classes.row} data-status={status}>
        <span className={classes.name}>
          <b>{name}</b>
          <small>
            {strategy} · {gate} · {formatAgo(created_at, now)}
          </small>
        </span>
        <span className={classes.status}>
          <StatusBadge status={status} />
          {why && <small>{position ? `${why}, number ${position}` : why}</small>}
        </span>
        <span className={classes.progress}>
          {done !== null && <Progress value={done * 100} size="sm" animated={!hasEnded(status)} aria-label={`Progress of ${name}`} />}
          {done !== null && <small>{formatPercent(done, 0)}</small>}
        </span>
        <Cell name="Loss">{formatNumber(progress.loss)}</Cell>
        <Cell name="Accuracy">{formatPercent(progress.eval?.accuracy)}</Cell>
        <Cell name="Staleness">{formatNumber(progress.mean_staleness)}</Cell>
        <Cell name="Time">{formatDuration(ran)}</Cell>
      </Link>
    </li>
  )
}

function Cell({ name, children }: { name: string; children: string }) {
  return (
    <span className={classes.cell}>
      <small>{name}</small>
      {children}
    </span>
  )
}
