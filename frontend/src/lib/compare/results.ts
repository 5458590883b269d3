import type { Job } from "@/client"
import { formatAccuracy, formatCount, formatDuration, formatNumber, secondsBetween } from "@/lib/format"
import { fieldText } from "./fields"
import type { Compared } from "./groups"
import { numericAxis, wordAxis, type ParallelAxis } from "./parallel"

/** Result of a job, or its result so far. */
export interface Result {
  key: string
  label: string
  of: (job: Job, now: number) => number | null
  format: (value: number) => string
}

const ALWAYS: readonly Result[] = [
  { key: "loss", label: "Training loss", of: ({ progress }) => progress.loss ?? null, format: formatNumber },
  { key: "staleness", label: "Mean staleness", of: ({ progress }) => progress.mean_staleness ?? null, format: formatNumber },
  { key: "seconds", label: "Time", of: trained, format: formatDuration },
  { key: "samples", label: "Samples", of: ({ progress }) => progress.samples, format: formatCount },
  { key: "speed", label: "Samples/s", of: (job, now) => speed(job, now), format: formatNumber },
]

/** Last evaluations, then what every job has. */
export function resultsOf(jobs: readonly Job[]): Result[] {
  const evaluated = [...new Set(jobs.flatMap(({ progress }) => Object.keys(progress.eval ?? {})))].sort()
  return [
    ...evaluated.map((key) => ({
      key: `eval/${key}`,
      label: `Eval ${key.replaceAll("_", " ")}`,
      of: ({ progress }: Job) => progress.eval?.[key] ?? null,
      format: key === "accuracy" ? formatAccuracy : formatNumber,
    })),
    ...ALWAYS,
  ]
}

/** Seconds from the first update to the end, or until `now` (milliseconds since the epoch). */
function trained({ progress, ended_at }: Job, now: number): number | null {
  return progress.first_step_at ? secondsBetween(progress.first_step_at, ended_at ?? now) : null
}

function speed(job: Job, now: number): number | null {
  const seconds = trained(job, now)
  return seconds ? job.progress.samples / seconds : null
}

/** Selected fields of the job files, then results that at least one job has. A field of numbers alone is a scale, any other has words. */
export function axesOf(jobs: readonly Compared[], paths: readonly string[], now: number): ParallelAxis[] {
  const fields = paths.map((path) => {
    const values = jobs.map(({ fields }) => fields.get(path) ?? null)
    const numbers = values.every((value) => typeof value === "number")
    return numbers ? numericAxis(path, path, values, formatNumber) : wordAxis(path, path, values.map(fieldText))
  })
  const results = resultsOf(jobs.map(({ job }) => job)).map(({ key, label, of, format }) => numericAxis(key, label, jobs.map(({ job }) => of(job, now)), format))
  return [...fields, ...results.filter(({ ticks }) => ticks.length > 0)]
}
