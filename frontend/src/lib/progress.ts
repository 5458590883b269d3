import type { Job, JobSummary } from "@/client"
import { hasEnded } from "./status"

export interface Phase {
  name: string
  /** Milliseconds since the epoch; null: not yet. */
  from: number | null
  to: number | null
  state: "done" | "now" | "next" | "skipped"
}

/** 0 to 1, or null while the total is not known. A job that succeeded is done, also where a target ended it early. */
export function share({ status, progress }: JobSummary): number | null {
  if (status === "succeeded") return 1
  const { samples, total_samples } = progress
  return total_samples ? Math.min(1, samples / total_samples) : null
}

/** Seconds that are left at the present speed; null where nobody can say. */
export function secondsLeft({ status, progress }: Job): number | null {
  const { samples, total_samples, samples_per_second } = progress
  if (status !== "running" || !total_samples || !samples_per_second) return null
  return Math.max(0, total_samples - samples) / samples_per_second
}

/** Waiting, starting and training with their times, as far as the job came. */
export function phases({ status, created_at, started_at, ended_at, progress }: Job): Phase[] {
  const moments = [created_at, started_at, progress.first_step_at].map((iso) => (iso ? Date.parse(iso) : null))
  const end = ended_at ? Date.parse(ended_at) : null
  return ["Queued", "Starting", "Training"].map((name, index) => {
    const from = moments[index] ?? null
    const to = moments[index + 1] ?? (from === null ? null : end)
    const state = from === null ? (hasEnded(status) ? "skipped" : "next") : to === null ? "now" : "done"
    return { name, from, to, state }
  })
}
