import type { Job } from "@/client"

export interface JobPages {
  pages: { items: Job[]; next_cursor: string | null }[]
  pageParams: unknown[]
}

/** The pages with a job's later state in its place; the same pages if none of them has it. */
export function withChangedJob<T extends JobPages>(data: T, job: Job): T {
  if (!data.pages.some(({ items }) => items.some(({ id }) => id === job.id))) return data
  const pages = data.pages.map((page) => ({ ...page, items: page.items.map((item) => (item.id === job.id && item.seq <= job.seq ? job : item)) }))
  return { ...data, pages }
}
