import type { JobConfig } from "@/client"

/** Job files as flat fields: a dotted path and the value that stands there. */

/** A list, a text, a number, ...; nothing below it has a path of its own. Undefined: the field is not there. */
export type FieldValue = unknown

export type Fields = ReadonlyMap<string, FieldValue>

/** Fields that differ in any two jobs and say nothing about how they train. */
const OF_NO_MATTER: readonly string[] = ["name"]

export function fieldsOf(spec: object): Fields {
  const fields = new Map<string, FieldValue>()
  collect(spec, "", fields)
  return fields
}

function collect(value: object, prefix: string, into: Map<string, FieldValue>): void {
  for (const [key, below] of Object.entries(value) as [string, unknown][]) {
    const path = prefix ? `${prefix}.${key}` : key
    if (typeof below === "object" && below !== null && !Array.isArray(below) && Object.keys(below).length > 0) collect(below, path, into)
    else into.set(path, below)
  }
}

/** All paths, in the order of the job file. */
export function allPaths(jobs: readonly Fields[]): string[] {
  const paths = new Set(jobs.flatMap((fields) => [...fields.keys()]))
  const order = (path: string) => path.split(".")[0]!
  const roots = [...new Set([...paths].map(order))]
  return [...paths].filter((path) => !OF_NO_MATTER.includes(path)).sort((a, b) => roots.indexOf(order(a)) - roots.indexOf(order(b)))
}

/** The paths at which at least two of the jobs differ; a field that is missing differs from one that is there. */
export function differingPaths(jobs: readonly Fields[]): string[] {
  return allPaths(jobs).filter((path) => new Set(jobs.map((fields) => fieldText(fields.get(path)))).size > 1)
}

/** The effective values in which jobs differ, as text: a default counts like a value that is written out. */
export function configDifferences(configs: readonly Pick<JobConfig, "effective">[]): { path: string; values: string[] }[] {
  const jobs = configs.map(({ effective }) => fieldsOf(effective))
  return differingPaths(jobs).map((path) => ({ path, values: jobs.map((fields) => fieldText(fields.get(path))) }))
}

/** A value in one line; a dash where there is none. */
export function fieldText(value: FieldValue): string {
  if (value === undefined || value === null) return "–"
  return typeof value === "string" ? value : JSON.stringify(value).replaceAll(/(?<=[,:])/g, " ").replaceAll('"', "")
}
