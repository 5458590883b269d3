import type { BulkAction, BulkItem, JobSummary } from "@/client"
import { hasEnded } from "./status"

/** Ids in one request. */
export const PORTION = 500

function jobs(count: number): string {
  return count === 1 ? "1 job" : `${count} jobs`
}

/** What a bulk change would do, in words, before it is done. */
export function consequence(action: BulkAction, chosen: readonly JobSummary[]): { question: string; does: string; nothing: boolean } {
  const ended = chosen.filter(({ status }) => hasEnded(status)).length
  const live = chosen.length - ended
  if (action === "stop") {
    const queued = chosen.filter(({ status }) => status === "queued").length
    const does = [
      live > queued ? `${jobs(live - queued)}: the workers finish the step they are in, a last cut is written, and the job ends as cancelled.` : "",
      queued > 0 ? `${jobs(queued)} that ${queued === 1 ? "waits" : "wait"} in the queue: cancelled at once.` : "",
      ended > 0 ? `${jobs(ended)} ${ended === 1 ? "has" : "have"} ended and ${ended === 1 ? "stays" : "stay"} as ${ended === 1 ? "it is" : "they are"}.` : "",
    ]
    return { question: `Stop ${jobs(live)}?`, does: does.filter(Boolean).join(" "), nothing: live === 0 }
  }
  const does = [
    ended > 0 ? "Models, metrics, logs and files are removed. This cannot be undone." : "",
    live > 0 ? `${jobs(live)} ${live === 1 ? "has" : "have"} not ended and ${live === 1 ? "stays" : "stay"}: stop first, then delete.` : "",
  ]
  return { question: `Delete ${jobs(ended)}?`, does: does.filter(Boolean).join(" "), nothing: ended === 0 }
}

/** The sentences of those that were refused, each once. */
export function refusals(items: readonly BulkItem[]): string[] {
  return [...new Set(items.flatMap(({ done, message }) => (done || message === null ? [] : [message])))]
}
