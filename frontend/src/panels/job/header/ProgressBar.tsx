import { Progress } from "@mantine/core"
import type { Job } from "@/client"
import { useNow } from "@/hooks/useNow"
import { formatDuration, formatPercent, secondsBetween } from "@/lib/format"
import { describeTimeLeft, share } from "@/lib/job/progress"
import { hasEnded, toneOf } from "@/lib/status"
import classes from "./ProgressBar.module.css"

/** How much of the training is done. A job that succeeded says so by its status. */
export function ProgressBar({ job }: { job: Job }) {
  const done = share(job)
  if (done === null || job.status === "succeeded") return null
  return (
    <Progress
      mt={8}
      value={done * 100}
      color={toneOf(job.status) === "bad" ? "red" : undefined}
      aria-label="Progress of the training"
      animated={job.status === "running"}
      size="sm"
    />
  )
}

/** In words: for how long the job has run, the share that is done, and how long the slowest worker takes for the rest. */
export function Pace({ job }: { job: Job }) {
  const { created_at, started_at, ended_at, status } = job
  const ended = hasEnded(job)
  const now = useNow(!ended)
  const done = status === "succeeded" ? null : share(job)
  const long = formatDuration(secondsBetween(started_at ?? created_at, ended_at ?? now))
  const left = [done === null ? null : formatPercent(done, 0), describeTimeLeft(job)].filter((each) => each !== null)
  return (
    <span className={classes.pace}>
      {ended ? "after" : "for"} {long}
      {left.map((each) => (
        <span key={each}> · {each}</span>
      ))}
    </span>
  )
}
