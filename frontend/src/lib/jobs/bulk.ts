import type { BulkAction, BulkItem, JobSummary } from "@/client"
import { counted, formatCount } from "@/lib/format"
import { hasEnded } from "@/lib/status"

/** Ids in one request. */
export const PORTION = 500

function jobs(count: number): string {
  return counted(count, "job")
}

/** How many jobs of the list are selected. */
export function selected(count: number, total: number): string {
  return `${formatCount(count)} of ${jobs(total)} selected`
}

/** Effect of a bulk change on the jobs as they were before it; jobs that had ended are not counted. Empty: nothing. */
export function outcome(action: BulkAction, items: readonly BulkItem[], before: readonly JobSummary[]): string {
  if (action === "archive" || action === "unarchive") return labelled(action, [], items)
  const done = new Set(items.flatMap((item) => (item.done ? [item.id] : [])))
  const changed = before.filter((job) => done.has(job.id) && hasEnded(job) === (action === "delete"))
  const waited = changed.filter(({ status }) => status === "queued").length
  const rest = changed.length - waited
  const parts = [
    rest > 0 ? `${jobs(rest)} ${rest === 1 ? "is" : "are"} ${action === "stop" ? "stopping" : "deleted"}.` : "",
    waited > 0 ? `${jobs(waited)} from the queue ${waited === 1 ? "is" : "are"} cancelled.` : "",
  ]
  return parts.filter(Boolean).join(" ")
}

const LABELLED: Partial<Record<BulkAction, string>> = { archive: "archived", unarchive: "listed again", add_tags: "tagged", remove_tags: "no longer tagged" }

/** Effect of a bulk change of tags, or of archiving. Empty: nothing. */
export function labelled(action: BulkAction, tags: readonly string[], items: readonly BulkItem[]): string {
  const count = items.filter(({ done }) => done).length
  return count === 0 ? "" : `${[`${jobs(count)} ${LABELLED[action]}`, tags.join(", ")].filter(Boolean).join(" ")}.`
}

/** Consequence of a bulk change, in words, before it is done. */
export function consequence(action: BulkAction, selection: readonly JobSummary[]): { question: string; does: string; nothing: boolean } {
  const ended = selection.filter(hasEnded).length
  const live = selection.length - ended
  if (action === "stop") {
    const queued = selection.filter(({ status }) => status === "queued").length
    const does = [
      live > queued ? `${jobs(live - queued)}: the workers finish their current step, the servers write a last checkpoint, and the job ends as cancelled.` : "",
      queued > 0 ? `${jobs(queued)} that ${queued === 1 ? "waits" : "wait"} in the queue: cancelled at once.` : "",
      ended > 0 ? `${jobs(ended)} ${ended === 1 ? "has" : "have"} ended and ${ended === 1 ? "does" : "do"} not change.` : "",
    ]
    return { question: `Stop ${jobs(live)}?`, does: does.filter(Boolean).join(" "), nothing: live === 0 }
  }
  const does = [
    ended > 0 ? "Models, metrics, logs and files are removed. This cannot be undone." : "",
    live > 0 ? `${jobs(live)} ${live === 1 ? "has" : "have"} not ended and ${live === 1 ? "is" : "are"} not deleted. Stop ${live === 1 ? "it" : "them"} first.` : "",
  ]
  return { question: `Delete ${jobs(ended)}?`, does: does.filter(Boolean).join(" "), nothing: ended === 0 }
}

/** The sentences of those that were refused, each once. */
export function refusals(items: readonly BulkItem[]): string[] {
  return [...new Set(items.flatMap(({ done, message }) => (done || message === null ? [] : [message])))]
}
