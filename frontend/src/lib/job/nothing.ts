import type { JobStatus } from "@/client"

const WHY: Partial<Record<JobStatus, string>> = {
  failed: ": the job failed first.",
  cancelled: ": the job was stopped first.",
  timed_out: ": the job ran out of time first.",
  succeeded: ", and the job has ended.",
}

/** "No checkpoint has been made" as a sentence on a job of this status: it may still come, or why it will not. */
export function nothing(said: string, status: JobStatus): string {
  const why = WHY[status]
  if (why) return said + why
  return status === "queued" ? `${said} yet: the job waits in the queue.` : `${said} yet.`
}
