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
  /** Conditions on settings and results, such as `lr>=0.1`; all hold. */
  where: string[]
  sort: JobSort
  /** A setting or result to sort by, instead of `sort`. */
  by: string | null
  descending: boolean
}

export interface JobView extends JobQuery {
  columns: readonly ColumnId[]
  /** Settings and results that are columns, too. */
  fields: readonly string[]
  /** A field whose values make groups; null: each job alone. */
  group: string | null
}

/** Columns that the server gives values for at a time, and conditions that it takes. */
export const MOST_FIELDS = 12
export const MOST_CONDITIONS = 10

const SORTS: readonly JobSort[] = ["created", "name", ...COLUMNS.flatMap(({ sort }) => sort ?? [])]
const LISTS = ["strategy", "user", "tag"] as const
const OWN = ["status", "strategy", "user", "tag", "archived", "q", "where", "sort", "by", "columns", "fields", "group"]

/** View that stands in an address; values that make no sense there are left out. */
export function readView(params: URLSearchParams): JobView {
  const asked = params.getAll("status")
  const [, minus, name] = /^(-?)(\w+)$/.exec(params.get("sort") ?? "") ?? []
  const sort = SORTS.find((known) => known === name)
  const columns = params.get("columns")?.split(",")
  const [, down, by = null] = /^(-?)(.+)$/.exec(params.get("by") ?? "") ?? []
  return {
    status: JOB_STATUSES.filter((status) => asked.includes(status)),
    strategy: params.getAll("strategy"),
    user: params.getAll("user"),
    tag: params.getAll("tag"),
    archived: params.get("archived") === "only",
    q: params.get("q") ?? "",
    where: params.getAll("where").slice(0, MOST_CONDITIONS),
    sort: sort ?? "created",
    by,
    descending: by ? down === "-" : sort ? minus === "-" : true,
    columns: columns ? COLUMNS.map(({ id }) => id).filter((id) => columns.includes(id)) : DEFAULT_COLUMNS,
    fields: [...new Set(params.get("fields")?.split(",").filter(Boolean))].slice(0, MOST_FIELDS),
    group: params.get("group"),
  }
}

/** The other way; only what differs from the default is written, and what others have put there stays. */
export function writeView(params: URLSearchParams, view: JobView): void {
  for (const name of OWN) params.delete(name)
  for (const status of view.status) params.append("status", status)
  for (const name of LISTS) for (const value of view[name]) params.append(name, value)
  if (view.archived) params.set("archived", "only")
  if (view.q) params.set("q", view.q)
  for (const condition of view.where) params.append("where", condition)
  if (view.by) params.set("by", `${view.descending ? "-" : ""}${view.by}`)
  else if (view.sort !== "created" || !view.descending) params.set("sort", `${view.descending ? "-" : ""}${view.sort}`)
  if (view.columns.join() !== DEFAULT_COLUMNS.join()) params.set("columns", view.columns.join())
  if (view.fields.length > 0) params.set("fields", view.fields.join())
  if (view.group) params.set("group", view.group)
}

/** The part of a view that can be named and kept: without anything that others have put into the address. */
export function addressOf(view: JobView): string {
  const params = new URLSearchParams()
  writeView(params, view)
  return params.toString()
}

export function isFiltered({ status, strategy, user, tag, archived, q, where }: JobQuery): boolean {
  return status.length + strategy.length + user.length + tag.length + where.length > 0 || archived || q !== ""
}

/** True if the server would list the job. It alone knows the conditions: with one, no job is known to fit. */
export function matches(query: JobQuery, job: JobSummary): boolean {
  const { status, strategy, user, tag, archived, q, where } = query
  const any = (wanted: readonly string[], value: string) => wanted.length === 0 || wanted.includes(value)
  const named = job.name.toLowerCase().includes(q.toLowerCase()) || (q.length >= 4 && job.id.startsWith(q.toLowerCase()))
  return any(status, job.status) && any(strategy, job.strategy) && any(user, job.user) && tag.every((each) => job.tags.includes(each)) && job.archived === archived && named && where.length === 0
}

/** The query as the server takes it. */
export function parametersOf({ status, strategy, user, tag, archived, q, where, sort, by, descending }: JobQuery) {
  const lists = { ...(status.length > 0 && { status }), ...(strategy.length > 0 && { strategy }), ...(user.length > 0 && { user }), ...(tag.length > 0 && { tag }) }
  return { ...lists, ...(archived && { archived: "only" as const }), ...(q && { q }), ...(where.length > 0 && { where }), ...(by ? { by } : { sort }), descending }
}

const CONDITION = /^\s*[^=<>!]+(=|!=|<=|>=|<|>)/

/** True if the server can read the condition. */
export function isCondition(text: string): boolean {
  return CONDITION.test(text)
}

/** The condition that a field has this value. A text that looks like another value stands in quotes. */
export function conditionOf(field: string, value: string | number | boolean): string {
  return `${field}=${typeof value === "string" ? JSON.stringify(value) : value}`
}
