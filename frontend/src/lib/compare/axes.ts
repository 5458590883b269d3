import type { Job } from "@/client"
import { AXES, axisView, samplesPerEpoch, type Axis, type AxisView, type Range, type WireAxis, wireAxis } from "@/lib/charts/axes"
import { formatBytes } from "@/lib/format"
import { valueAt } from "./bytes"
import type { Curve } from "./curves"

/** Axes on which jobs can be laid over each other. */
export type CompareAxis = Axis | "bytes"

export const COMPARE_AXES: { value: CompareAxis; label: string }[] = [
  ...AXES.map((axis) => (axis.value === "time" ? { ...axis, label: "Time since start" } : axis)),
  { value: "bytes", label: "Bytes sent" },
]

/** Axis of the request to the server. Bytes are a cost, as time is: work that was rolled back has cost them too. */
export function askedAxis(axis: CompareAxis): WireAxis {
  return axis === "bytes" ? "time" : wireAxis(axis)
}

/** View of the common axis, on which all jobs are in the same units already. */
export function commonView(axis: CompareAxis): AxisView {
  const { label } = COMPARE_AXES.find(({ value }) => value === axis)!
  if (axis === "bytes") return { axis: "samples", label, wire: "samples", offset: 0, unit: 1, format: formatBytes, exact: formatBytes }
  return { ...axisView(axis, 0, 1), label, unit: 1 }
}

/** From the server's units to those of the common axis, and back. */
export interface JobAxis {
  toCommon: (x: number) => number
  toServer: (x: number) => number
}

/** Null where the job has no such axis: an unknown length of an epoch, or nothing that it sent. */
export function jobAxis(axis: CompareAxis, job: Job, sent: Curve | null): JobAxis | null {
  if (axis === "bytes") return sent === null || sent.y.at(-1) === 0 ? null : { toCommon: (time) => valueAt(sent, time), toServer: (bytes) => valueAt({ x: sent.y, y: sent.x }, bytes) }
  if (axis === "epoch") {
    const epoch = samplesPerEpoch(job)
    return epoch === null ? null : { toCommon: (samples) => samples / epoch, toServer: (epochs) => epochs * epoch }
  }
  const origin = axis === "time" ? Date.parse(job.started_at ?? job.created_at) / 1000 : 0
  return { toCommon: (x) => x - origin, toServer: (x) => x + origin }
}

/** Sentences about the jobs, of so many, that have no such axis. */
export function withoutAxis(axis: CompareAxis, jobs: readonly { job: Pick<Job, "progress">; label: string }[], all: number): string {
  const { label: over } = COMPARE_AXES.find(({ value }) => value === axis)!
  const reasons = [...new Set(jobs.map(({ job }) => whyWithout(axis, job)))]
  return reasons
    .map((why) => {
      const those = jobs.filter(({ job }) => whyWithout(axis, job) === why)
      return `No curve over ${over.toLowerCase()}${those.length === all ? "" : ` for ${those.map(({ label }) => label).join(", ")}`}: ${why}.`
    })
    .join(" ")
}

function whyWithout(axis: CompareAxis, { progress: { exchange } }: Pick<Job, "progress">): string {
  if (axis === "epoch") return "the length of an epoch is not known"
  return exchange?.sent_bytes === 0 ? "all vectors went through shared memory, so no bytes were sent" : "the number of sent bytes is not known"
}

export function serverRange(range: Range | null, axis: JobAxis | null): Range | null {
  if (!range || !axis) return null
  const [from, to] = [axis.toServer(range.from), axis.toServer(range.to)]
  return from < to ? { from, to } : null
}
