import type { Job } from "@/client"
import { hasEnded } from "@/lib/status"

/** Why a job waits, or how it ended: the banner of its page. None while it runs, and none for a success. */
export function bannerOf({ status, message }: Pick<Job, "status" | "message">): string | null {
  return status === "running" || status === "succeeded" ? null : (message ?? null)
}

/** How a process or an attempt of the job ended, in short where the banner has the reason already. */
export function inShort(message: string | null, job: Pick<Job, "status" | "message">): string | null {
  const told = hasEnded(job) && bannerOf(job)
  return message && told && told.includes(message) ? "See the reason above." : message
}
