import { formatAccuracy, formatFigure, NONE } from "@/lib/format"
import { allPaths, fieldText } from "./fields"
import type { Compared } from "./groups"
import { resultsOf } from "./results"

/** Fields of compared jobs: columns of the table of runs, axes of the scatter plot, and subjects of ranges. */

export type RunValue = number | string | null

export interface RunField {
  key: string
  label: string
  group: "Results" | "Settings"
  of: (job: Compared) => RunValue
  format: (value: number) => string
}

/** Values of the compared metric over all stored points of a job. */
export interface MetricSummary {
  last: number | null
  low: number | null
  high: number | null
}

interface SummedMetric {
  title: string
  better: "higher" | "lower" | "neither"
  /** Its values are shares, which are percent on the whole page. */
  isShare?: boolean
  of: ReadonlyMap<string, MetricSummary>
}

/** The last and the best value of the metric, the results of the jobs, and all settings. A metric of which no value is better has no best. */
export function runFields(jobs: readonly Compared[], { title, better, isShare = false, of }: SummedMetric, now: number): RunField[] {
  const metric = (key: string, label: string, which: keyof MetricSummary): RunField => ({
    key, label, group: "Results", of: ({ job }) => of.get(job.id)?.[which] ?? null, format: isShare ? formatAccuracy : formatFigure,
  })
  const results = resultsOf(jobs.map(({ job }) => job))
  return [
    metric("last", `Last ${lower(title)}`, "last"),
    ...(better === "neither" ? [] : [metric("best", `Best ${lower(title)}`, better === "higher" ? "high" : "low")]),
    ...results.map(({ key, label, of, format }): RunField => ({ key, label, group: "Results", of: ({ job }) => of(job, now), format })),
    ...allPaths(jobs.map(({ fields }) => fields)).map(setting),
  ]
}

/** A field of the job file: a number as such, anything else as its text. */
function setting(path: string): RunField {
  return {
    key: path, label: path, group: "Settings", format: String,
    of: ({ fields }) => {
      const value = fields.get(path)
      if (value === undefined || value === null) return null
      return typeof value === "number" ? value : fieldText(value)
    },
  }
}

function lower(title: string): string {
  return title.charAt(0).toLowerCase() + title.slice(1)
}

/** A value that is no number to compare is none. */
export function valueIn(field: RunField, job: Compared): RunValue {
  const value = field.of(job)
  return typeof value === "number" && !Number.isFinite(value) ? null : value
}

export function valueText(field: RunField, job: Compared): string {
  const value = field.of(job)
  if (value === null) return NONE
  return typeof value === "number" ? field.format(value) : value
}

/** Sorted by a field: numbers by size and before texts; jobs without a value come last, both ways; else in their order. */
export function sortedRuns(jobs: readonly Compared[], field: RunField | null, descending: boolean): Compared[] {
  if (!field) return [...jobs]
  const values = new Map(jobs.map((job) => [job, valueIn(field, job)]))
  const turn = descending ? -1 : 1
  return jobs.toSorted((one, other) => {
    const [a, b] = [values.get(one) ?? null, values.get(other) ?? null]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    return turn * compareValues(a, b)
  })
}

function compareValues(a: number | string, b: number | string): number {
  if (typeof a === "number" && typeof b === "number") return a - b
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true })
  return typeof a === "number" ? -1 : 1
}

/** Column that is the name of the job. */
export const NAME: RunField = { key: "name", label: "Job", group: "Settings", of: ({ label }) => label, format: String }

/** Settings that are columns unless others are selected. */
const FIRST_SETTINGS = 2

/** Columns of the table: those selected, or last, best and the first settings that differ. Fields that no job has are left out. */
export function tableFields(fields: readonly RunField[], selected: readonly string[] | null, differing: readonly string[]): RunField[] {
  const keys = selected ?? ["last", "best", ...differing.slice(0, FIRST_SETTINGS)]
  return keys.flatMap((key) => fields.find((field) => field.key === key) ?? [])
}

/** Fields to select from, by their groups. */
export function fieldChoices(fields: readonly RunField[]): { group: string; items: { value: string; label: string }[] }[] {
  return (["Results", "Settings"] as const)
    .map((group) => ({ group, items: fields.filter((field) => field.group === group).map(({ key, label }) => ({ value: key, label })) }))
    .filter(({ items }) => items.length > 0)
}
