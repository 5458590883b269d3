import { IconCheck, IconCircle, IconCircleDot, IconMinus, IconX, type Icon } from "@tabler/icons-react"
import type { Job } from "@/client"
import { useNow } from "@/hooks/useNow"
import { formatDuration } from "@/lib/format"
import { phases, type Phase } from "@/lib/job/progress"
import { hasEnded, readable, toneOf } from "@/lib/status"
import classes from "./Timeline.module.css"

const ICONS: Record<Phase["state"], Icon> = { done: IconCheck, now: IconCircleDot, next: IconCircle, skipped: IconMinus }

/** Phases of the job, with the time that each took. */
export function Timeline({ job }: { job: Job }) {
  const ended = hasEnded(job)
  const now = useNow(!ended)
  const End = !ended ? IconCircle : job.status === "succeeded" ? IconCheck : IconX
  return (
    <ol className={classes.timeline} aria-label="Timeline">
      {phases(job).map(({ name, from, to, state }) => {
        const Icon = ICONS[state]
        return (
          <li key={name} className={classes.phase} data-state={state} aria-current={state === "now" ? "step" : undefined}>
            <Icon size={16} aria-hidden />
            <span className={classes.name}>{name}</span>
            <span className={classes.time}>{from === null ? "" : formatDuration(((to ?? now) - from) / 1000)}</span>
          </li>
        )
      })}
      <li className={classes.phase} data-state={ended ? "done" : "next"} data-tone={ended ? toneOf(job.status) : undefined}>
        <End size={16} aria-hidden />
        <span className={classes.name}>{ended ? readable(job.status) : "End"}</span>
        <span className={classes.time}>{job.attempt > 1 ? `attempt ${job.attempt}` : ""}</span>
      </li>
    </ol>
  )
}
