import type { JobStatus } from "@/client"

export type Tone = "good" | "bad" | "busy" | "wait" | "calm"

const ENDED: readonly JobStatus[] = ["succeeded", "failed", "cancelled", "timed_out"]

export const JOB_STATUSES: readonly JobStatus[] = ["queued", "starting", "running", "stopping", ...ENDED]

/** A status that only a newer server knows counts as an end if the job has a time of its end. */
export function hasEnded({ status, ended_at }: { status: JobStatus; ended_at?: string | null }): boolean {
  return ENDED.includes(status) || typeof ended_at === "string"
}

/** A job of this status has a reason that its row in a list shows. */
export function isExplained(status: JobStatus): boolean {
  return status === "queued" || status === "failed"
}

/** How a status of a job, attempt, process or node is to be read. */
export function toneOf(status: string): Tone {
  switch (status) {
    case "succeeded":
    case "ready":
      return "good"
    case "failed":
    case "lost":
    case "unavailable":
    case "timed_out":
      return "bad"
    case "running":
    case "starting":
    case "preparing":
      return "busy"
    case "queued":
    case "assigned":
    case "stopping":
    case "draining":
    case "paused":
      return "wait"
    default:
      return "calm"
  }
}

export function readable(word: string): string {
  return word.replaceAll("_", " ")
}
