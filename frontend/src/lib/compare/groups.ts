import type { Job } from "@/client"
import { fieldText, type Fields } from "./fields"

/** A job in a comparison, with what of it does not change while it runs. */
export interface Compared {
  job: Job
  fields: Fields
  /** Unlike that of any other job of the comparison. */
  label: string
}

/** Jobs that are drawn as one, or a job alone. */
export interface JobGroup {
  label: string
  /** Into the palette: colour and dash. */
  index: number
  jobs: readonly Compared[]
}

/** Jobs of the same name are told apart by the beginnings of their ids. */
export function jobLabels(jobs: readonly Job[]): string[] {
  const known = new Map<string, number>()
  for (const { name } of jobs) known.set(name, (known.get(name) ?? 0) + 1)
  return jobs.map(({ name, id }) => (known.get(name)! > 1 ? `${name} ${id.slice(0, 8)}` : name))
}

/** One group for each value of the field, in the order in which values first come; without a field, one for each job. */
export function groupBy(jobs: readonly Compared[], field: string | null): JobGroup[] {
  if (field === null) return jobs.map((job, index) => ({ label: job.label, index, jobs: [job] }))
  const values = new Map<string, Compared[]>()
  for (const job of jobs) {
    const value = fieldText(job.fields.get(field))
    values.set(value, [...(values.get(value) ?? []), job])
  }
  const last = field.split(".").at(-1)!
  return [...values].map(([value, members], index) => ({ label: field === "strategy.name" ? value : `${last} ${value}`, index, jobs: members }))
}
