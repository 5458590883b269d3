import { ticksBetween } from "@/lib/charts/scales/ticks"
import { counted } from "@/lib/format"
import type { Compared } from "./groups"
import { numericAxis, wordAxis, type ParallelAxis } from "./parallel"
import { valueIn, valueText, type RunField } from "./runs"

/** Two fields of compared jobs against each other. */

export interface ScatterAxis extends ParallelAxis {
  /** Jobs without a value of the field. */
  without: number
  /** Jobs with a value that a logarithmic axis has no place for. */
  belowZero: number
}

/** At most so many on an axis. */
const TICKS = 6

/** Places of the jobs on the axis of a field: numbers on a scale, texts side by side. */
export function scatterAxis(field: RunField, jobs: readonly Compared[], log: boolean): ScatterAxis {
  const values = jobs.map((job) => valueIn(field, job))
  const without = values.filter((value) => value === null).length
  if (values.some((value) => typeof value === "string")) {
    const texts = jobs.map((job) => valueText(field, job))
    const axis = wordAxis(field.key, field.label, texts.filter((_, at) => values[at] !== null))
    let placed = 0
    return { ...axis, places: values.map((value) => (value === null ? null : axis.places[placed++]!)), texts, without, belowZero: 0 }
  }
  const numbers = values as (number | null)[]
  const isBelow = (value: number | null) => log && value !== null && value <= 0
  const scaled = numbers.map((value) => (value === null || isBelow(value) ? null : log ? Math.log10(value) : value))
  const format = (value: number) => field.format(readable(log ? 10 ** value : value))
  const axis = numericAxis(field.key, field.label, scaled, format)
  return { ...axis, ticks: (log ? null : roundTicks(axis, format)) ?? axis.ticks, texts: jobs.map((job) => valueText(field, job)), without, belowZero: numbers.filter(isBelow).length }
}

/** Ticks at round numbers; null: fewer than two of them lie on the axis. */
function roundTicks({ extent }: ParallelAxis, format: (value: number) => string): ParallelAxis["ticks"] | null {
  const [low, high] = extent ?? [0, 0]
  const { places } = ticksBetween(low, high, TICKS, false)
  return places.length < 2 ? null : places.map((value) => ({ at: (value - low) / (high - low), text: format(value) }))
}

/** Without the digits that only the computation of a tick brings. */
function readable(value: number): number {
  return Number(value.toPrecision(6))
}

export interface ScatterPoint {
  key: string
  label: string
  index: number
  /** From 0 to 1. */
  x: number
  y: number
  /** Its values, in words. */
  text: string
}

/** The jobs that have a place on both axes. */
export function scatterPoints(jobs: readonly Compared[], x: ScatterAxis, y: ScatterAxis, places: ReadonlyMap<string, number>): ScatterPoint[] {
  return jobs.flatMap(({ job, label }, at) => {
    const [across, up] = [x.places[at] ?? null, y.places[at] ?? null]
    if (across === null || up === null) return []
    return [{ key: job.id, label, index: places.get(job.id) ?? 0, x: across, y: up, text: `${x.label} ${x.texts[at]}, ${y.label} ${y.texts[at]}` }]
  })
}

/** Sentences about the jobs that have no place, for each axis. */
export function notPlaced(axes: readonly ScatterAxis[]): string {
  return axes
    .flatMap(({ label, without, belowZero }) => [
      without > 0 ? `${counted(without, "job")} without a value of ${label}.` : "",
      belowZero > 0 ? `${counted(belowZero, "job")} with ${label} at or below 0, which a log axis cannot show.` : "",
    ])
    .filter(Boolean)
    .join(" ")
}
