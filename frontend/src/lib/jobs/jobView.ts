import type { JobSort, JobStatus, JobSummary } from "@/client"
import { JOB_STATUSES } from "@/lib/status"
import { COLUMNS, DEFAULT_COLUMNS, type ColumnId } from "./jobColumns"

/** Which jobs, in which order. An empty list: any. */
export interface JobQuery {
  status: JobStatus[]
  strategy: string[]
  user: string[]
  /** All of these. */
  tag: string[]
  /** Archived jobs instead of the others. */
  archived: boolean
  q: string
  sort: JobSort
  descending: boolean
}

export interface JobView extends JobQuery {
  columns: readonly ColumnId[]
}

const SORTS: readonly JobSort[] = ["created", "name", ...COLUMNS.flatMap(({ sort }) => sort ?? [])]
const LISTS = ["strategy", "user", "tag"] as const
const OWN = ["status", "strategy", "user", "tag", "archived", "q", "sort", "columns"]

/** View that stands in an address; values that make no sense there are left out. */
export function readView(params: URLSearchParams): JobView {
  const asked = params.getAll("status")
  const [, minus, name] = /^(-?)(\w+)$/.exec(params.get("sort") ?? "") ?? []
  const sort = SORTS.find((known) => known === name)
  const columns = params.get("columns")?.split(",")
  return {
    status: JOB_STATUSES.filter((status) => asked.includes(status)),
    strategy: params.getAll("strategy"),
    user: params.getAll("user"),
    tag: params.getAll("tag"),
    archived: params.get("archived") === "only",
    q: params.get("q") ?? "",
    sort: sort ?? "created",
    descending: sort ? minus === "-" : true,
    columns: columns ? COLUMNS.map(({ id }) => id).filter((id) => columns.includes(id)) : DEFAULT_COLUMNS,
  }
}

/** The other way; only what differs from the default is written, and what others have put there stays. */
export function writeView(params: URLSearchParams, view: JobView): void {
  for (const name of OWN) params.delete(name)
  for (const status of view.status) params.append("status", status)
  for (const name of LISTS) for (const value of view[name]) params.append(name, value)
  if (view.archived) params.set("archived", "only")
  if (view.q) params.set("q", view.q)
  if (view.sort !== "created" || !view.descending) params.set("sort", `${view.descending ? "-" : ""}${view.sort}`)
  if (view.columns.join() !== DEFAULT_COLUMNS.join()) params.set("columns", view.columns.join())
}

/** The part of a view that can be named and kept: without anything that others have put into the address. */
export function addressOf(view: JobView): string {
  const params = new URLSearchParams()
  writeView(params, view)
  return params.toString()
}

export function isFiltered({ status, strategy, user, tag, archived, q }: JobQuery): boolean {
  return status.length + strategy.length + user.length + tag.length > 0 || archived || q !== ""
}

/** True if the server would list the job. */
export function matches(query: JobQuery, job: JobSummary): boolean {
  const { status, strategy, user, tag, archived, q } = query
  const any = (wanted: readonly string[], value: string) => wanted.length === 0 || wanted.includes(value)
  const named = job.name.toLowerCase().includes(q.toLowerCase()) || (q.length >= 4 && job.id.startsWith(q.toLowerCase()))
  return any(status, job.status) && any(strategy, job.strategy) && any(user, job.user) && tag.every((each) => job.tags.includes(each)) && job.archived === archived && named
}
