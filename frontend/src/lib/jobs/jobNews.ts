import type { JobSummary } from "@/client"
import { withoutJobs, type JobPages } from "./jobPages"

/** More than change while one read of a list is under way. */
const KEPT = 2000

/**
 * Latest news of jobs. A read of a list takes a moment, and news that came meanwhile may be later than its response:
 * of two states of a job the one with the higher `seq` holds, and a deleted job does not come back.
 */
export class JobNews {
  private readonly latest = new Map<string, JobSummary>()
  private readonly gone = new Set<string>()

  changed(job: JobSummary): void {
    const known = this.latest.get(job.id)
    if (known && known.seq > job.seq) return
    this.latest.delete(job.id)
    this.latest.set(job.id, job)
    forgetOldest(this.latest)
  }

  deleted(ids: Iterable<string>): void {
    for (const id of ids) this.gone.add(id)
    forgetOldest(this.gone)
  }

  /** The pages with what was heard; the same ones if that says nothing else. */
  into<T extends JobPages>(read: T): T {
    const data = withoutJobs(read, this.gone)
    if (!data.pages.some(({ items }) => items.some((item) => this.later(item) !== item))) return data
    return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map(this.later) })) }
  }

  private readonly later = (item: JobSummary): JobSummary => {
    const heard = this.latest.get(item.id)
    return heard && heard.seq > item.seq ? heard : item
  }
}

/** Keys come in the order in which they were set. */
function forgetOldest(known: Map<string, unknown> | Set<string>): void {
  for (const id of known.keys()) {
    if (known.size <= KEPT) return
    known.delete(id)
  }
}

/** There is one platform behind a page, and its jobs' ids are used once. */
export const jobNews = new JobNews()
