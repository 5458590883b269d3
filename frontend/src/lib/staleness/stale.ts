import type { Job } from "@/client"
import { formatMoments, formatNumber } from "@/lib/format"

/** One of three measures of a push's staleness. */
export interface Measure {
  metric: string
  /** Label in the choice between them. */
  label: string
  /** As it stands in a sentence. */
  name: string
  /** Counted unit, if it is a count: "updates". */
  unit: string
  about: string
  /** Without the unit, unless it depends on the value. */
  format: (value: number | null) => string
  /** In words, where nothing was measured: in a cell, and in the whole job; and what else may be the reason. */
  none: string
  empty: string
  unless?: string
}

export const MEASURES = {
  versions: {
    metric: "train/staleness", label: "Versions", name: "staleness", unit: "updates", about: "in updates",
    format: formatNumber, none: "no push", empty: "No push has been applied",
  },
  seconds: {
    metric: "train/staleness_seconds", label: "Seconds", name: "staleness in seconds", unit: "",
    about: "time since a newer center replaced the push's base",
    format: formatMoments, none: "no push", empty: "No push has been applied", unless: "Jobs from older versions of Gradstream have no such values.",
  },
  distance: {
    metric: "train/base_distance", label: "Distance", name: "distance to the center", unit: "", about: "‖center − base‖, of a sample of pushes",
    format: formatNumber, none: "nothing measured",
    empty: "No distance has been measured",
    unless: "Servers measure one push in 32 mini-batches of a worker. They measure none under bsp, with strategies that average, or in jobs from older versions of Gradstream.",
  },
} as const satisfies Record<string, Measure>

export type MeasureName = keyof typeof MEASURES

export function measureOf(text: string | null): MeasureName {
  return text === "seconds" || text === "distance" ? text : "versions"
}

/** The sentence for a job that has no value: `nothing` knows whether it may still come. */
export function emptyOf({ empty, unless }: Measure, nothing: (said: string) => string): string {
  return [nothing(empty), unless].filter(Boolean).join(" ")
}

/** With its unit. */
export function said({ format, unit }: Measure, value: number | null): string {
  const figure = format(value)
  if (!unit) return figure
  return `${figure} ${figure === "1" ? unit.replace(/s$/, "") : unit}`
}

/** The sentence for a job in which no push is stale, by the nature of the job; null: some are, or may be. */
export function neverStale({ workers, gate, progress }: Pick<Job, "workers" | "gate" | "progress">): string | null {
  if (progress.mean_staleness !== 0) return null
  if (workers === 1) return "No push of this job is stale: with one worker, nothing changes the center between a pull and the push that follows."
  if (gate === "bsp") return "No push of this job is stale: under bsp, all workers wait for the round to end."
  return null
}
