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

/** Colours of the palette that come before any is used a second time. */
const COLORS = 12

/** The place of each job in the palette: by its id, so that it keeps its colour in every comparison; the next free one where an earlier job has that. */
export function jobPlaces(ids: readonly string[]): number[] {
  const taken = new Set<number>()
  return ids.map((id) => {
    const own = parseInt(id.slice(0, 8), 16) % COLORS || 0
    const round = Math.floor(taken.size / COLORS) * COLORS
    let place = round + own
    while (taken.has(place)) place = round + ((place + 1) % COLORS)
    taken.add(place)
    return place
  })
}

/** One group for each value of the field, in the order in which values first come; without a field, one for each job. */
export function groupBy(jobs: readonly Compared[], field: string | null): JobGroup[] {
  if (field === null) {
    const places = jobPlaces(jobs.map(({ job }) => job.id))
    return jobs.map((job, at) => ({ label: job.label, index: places[at]!, jobs: [job] }))
  }
  const values = new Map<string, Compared[]>()
  for (const job of jobs) {
    const value = fieldText(job.fields.get(field))
    values.set(value, [...(values.get(value) ?? []), job])
  }
  const last = field.split(".").at(-1)!
  return [...values].map(([value, members], index) => ({ label: field === "strategy.name" ? value : `${last} ${value}`, index, jobs: members }))
}

/** The place in the palette of each job by its id: its own, or that of its group. */
export function groupPlaces(jobs: readonly Compared[], field: string | null): ReadonlyMap<string, number> {
  return new Map(groupBy(jobs, field).flatMap(({ jobs, index }) => jobs.map(({ job }) => [job.id, index] as const)))
}
