import type { Job, JobSummary } from "@/client"
import { formatDuration, formatDurationRange } from "@/lib/format"
import { hasEnded } from "@/lib/status"

export interface Phase {
  name: string
  /** Milliseconds since the epoch; null: not yet. */
  from: number | null
  to: number | null
  state: "done" | "now" | "next" | "skipped"
}

/** Work that is left over until the job has ended: the last evaluation, and the model on its way. */
const NEVER_ALL = 0.99

/** 0 to 1, or null while the total is not known. Only a job that succeeded is done, also where a target ended it early. */
export function share({ status, progress }: JobSummary): number | null {
  if (status === "succeeded") return 1
  const { samples, total_samples, done } = progress
  const trained = Math.max(done ?? 0, total_samples ? samples / total_samples : 0)
  return typeof done !== "number" && !total_samples ? null : Math.min(NEVER_ALL, Math.floor(trained * 100) / 100)
}

/** Seconds until the slowest worker has trained its share; null where that is not known. */
export function secondsLeft({ status, progress }: Job): number | null {
  return status === "running" ? (progress.seconds_left ?? null) : null
}

/** How long the rest takes: a range where the workers' speeds vary, one figure where both ends round to the same. */
export function describeTimeLeft(job: Job): string | null {
  const left = secondsLeft(job)
  if (left === null) return null
  const { seconds_left_low: low, seconds_left_high: high } = job.progress
  const range = typeof low === "number" && typeof high === "number" ? formatDurationRange(low, high) : null
  if ((high ?? left) < 1) return "finishing"
  return range ? `${range} left` : left < 1 ? "finishing" : `about ${formatDuration(left)} left`
}

/** Waiting, starting and training with their times, as far as the job came. */
export function phases(job: Job): Phase[] {
  const { created_at, started_at, ended_at, progress } = job
  const moments = [created_at, started_at, progress.first_step_at].map((iso) => (iso ? Date.parse(iso) : null))
  const end = ended_at ? Date.parse(ended_at) : null
  return ["Queued", "Starting", "Training"].map((name, index) => {
    const from = moments[index] ?? null
    const to = moments[index + 1] ?? (from === null ? null : end)
    const state = from === null ? (hasEnded(job) ? "skipped" : "next") : to === null ? "now" : "done"
    return { name, from, to, state }
  })
}
