import type { Job } from "@/client"
import { hasEnded } from "@/lib/status"

const SHORTEST_MS = 2000
const EACH_MS = 250
/** The last points may be stored after the end itself. */
const LINGER_MS = 15_000

/** Milliseconds until a job of so many is to be asked for again: no server has more than a few requests a second from a page. False: never. */
export function pauseOf(job: Pick<Job, "status" | "ended_at">, jobs: number, now = Date.now()): number | false {
  const over = hasEnded(job) && (job.ended_at === null || now - Date.parse(job.ended_at) > LINGER_MS)
  return over ? false : Math.max(SHORTEST_MS, EACH_MS * jobs)
}
