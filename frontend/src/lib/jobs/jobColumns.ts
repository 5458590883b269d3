import type { JobSort } from "@/client"
import type { Word } from "@/lib/glossary"

export type ColumnId = "status" | "strategy" | "user" | "workers" | "priority" | "progress" | "loss" | "accuracy" | "throughput" | "staleness" | "time" | "age"

export interface JobColumn {
  id: ColumnId
  label: string
  /** Order that the server sorts by. */
  sort?: JobSort
  /** The first click shows the greatest first. */
  descending?: boolean
  /** A track of the grid. */
  width: string
  /** Its figures end at one edge, so that sizes are compared at a glance. */
  figures?: boolean
  /** Its word in the glossary. */
  term?: Word
  shown: boolean
}

/** Beside the name, which is always there. */
export const COLUMNS: readonly JobColumn[] = [
  { id: "status", label: "Status", sort: "status", width: "minmax(150px, 1.5fr)", shown: true },
  { id: "strategy", label: "Strategy", sort: "strategy", term: "strategy", width: "minmax(92px, 0.9fr)", shown: true },
  { id: "user", label: "User", sort: "user", width: "minmax(80px, 0.7fr)", shown: false },
  { id: "workers", label: "Workers", sort: "workers", descending: true, figures: true, width: "72px", shown: true },
  { id: "priority", label: "Priority", sort: "priority", descending: true, figures: true, width: "68px", shown: false },
  { id: "progress", label: "Progress", width: "minmax(96px, 1fr)", shown: true },
  { id: "loss", label: "Loss", sort: "loss", figures: true, width: "minmax(136px, 1.2fr)", shown: true },
  { id: "accuracy", label: "Evaluation", sort: "accuracy", descending: true, figures: true, width: "minmax(112px, 1fr)", shown: true },
  { id: "throughput", label: "Samples/s", sort: "throughput", descending: true, figures: true, width: "88px", shown: true },
  { id: "staleness", label: "Staleness", sort: "staleness", figures: true, term: "staleness", width: "84px", shown: true },
  { id: "time", label: "Time", figures: true, width: "96px", shown: false },
  { id: "age", label: "Age", sort: "created", descending: true, figures: true, width: "96px", shown: true },
]

export const DEFAULT_COLUMNS: readonly ColumnId[] = COLUMNS.filter(({ shown }) => shown).map(({ id }) => id)

export function shownColumns(ids: readonly ColumnId[]): JobColumn[] {
  return COLUMNS.filter(({ id }) => ids.includes(id))
}

/** With this column if it was not there, else without it; always in the same order. */
export function turned(columns: readonly ColumnId[], one: ColumnId): ColumnId[] {
  return COLUMNS.map(({ id }) => id).filter((id) => columns.includes(id) !== (id === one))
}

/** A setting or result as a column. */
export interface FieldColumn {
  id: string
  label: string
  field: string
  descending?: boolean
  figures: boolean
  width: string
}

const LABELS: [RegExp, string][] = [[/^min:(.*)/, "lowest $1"], [/^max:(.*)/, "highest $1"], [/^(?:workload\.args|strategy|user)[./](.*)/, "$1"]]

/** A short name: what stands before it in the job file says little in a table. */
export function fieldLabel(field: string): string {
  const [pattern, label] = LABELS.find(([known]) => known.test(field)) ?? []
  return pattern ? field.replace(pattern, label!) : field
}

function fieldColumns(fields: readonly string[]): FieldColumn[] {
  return fields.map((field) => ({ id: field, field, label: fieldLabel(field), figures: true, width: "minmax(96px, 1fr)" }))
}

/** Columns that say which job it is come first, then the selected fields, then the others. */
export function tableColumns(columns: readonly ColumnId[], fields: readonly string[]): (JobColumn | FieldColumn)[] {
  const shown = shownColumns(columns)
  const identifying = shown.filter(({ id }) => id === "status" || id === "strategy" || id === "user")
  return [...identifying, ...fieldColumns(fields), ...shown.filter((column) => !identifying.includes(column))]
}

/** Columns that a table of values has, by what the server calls them. The others are drawn, or made of several. */
const EXPORTED: Partial<Record<ColumnId, string[]>> = { progress: [], age: ["created"], time: ["started", "ended"], strategy: ["strategy", "gate"] }

export function exportedColumns(columns: readonly ColumnId[], fields: readonly string[]): string[] {
  return ["tags", ...columns.flatMap((id) => EXPORTED[id] ?? [id]), ...fields]
}
