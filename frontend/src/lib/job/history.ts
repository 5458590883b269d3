import type { Job, Overview } from "@/client"
import { inShort } from "./reasons"

type Recorded = Pick<Overview, "attempts" | "failures" | "ledger">
type Known = Pick<Job, "status" | "message"> & { progress: Pick<Job["progress"], "dealt"> }

/** Nothing out of the ordinary: one attempt, every push applied or on its way, and no failure but the one that the head of the page explains. */
export function isPlain({ attempts, failures, ledger }: Recorded, job: Known): boolean {
  if (attempts.length > 1 || job.progress.dealt) return false
  if (ledger && ledger.dropped + ledger.rolled_back > 0) return false
  return failures.every(({ message, respawned }) => !respawned && message !== null && inShort(message, job) !== message)
}
