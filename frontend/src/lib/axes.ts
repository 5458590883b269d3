import type { JobSpec } from "@/client"
import { formatClock, formatDuration, formatNumber } from "./format"

/** What the server can sort points by. */
export type WireAxis = "samples" | "step" | "version" | "time"
export type Axis = WireAxis | "epoch" | "wall"

/** Of an axis, in the units of the server. */
export interface Range {
  from: number
  to: number
}

/** How what the server sorts by is shown: (x - offset) / unit. */
export interface AxisView {
  axis: Axis
  wire: WireAxis
  offset: number
  unit: number
  format: (x: number) => string
}

export const AXES: { value: Axis; label: string }[] = [
  { value: "samples", label: "Samples" },
  { value: "epoch", label: "Epochs" },
  { value: "step", label: "Steps" },
  { value: "version", label: "Version" },
  { value: "time", label: "Time" },
  { value: "wall", label: "Clock" },
]

/** `origin`: seconds since the epoch at which the job began. Without a known epoch, samples stand for it. */
export function axisView(axis: Axis, origin: number, samplesPerEpoch: number | null): AxisView {
  if (axis === "time") return { axis, wire: "time", offset: origin, unit: 1, format: formatDuration }
  if (axis === "wall") return { axis, wire: "time", offset: 0, unit: 1, format: (x) => formatClock(x * 1000) }
  if (axis === "epoch") return { axis, wire: "samples", offset: 0, unit: samplesPerEpoch ?? 1, format: formatNumber }
  return { axis, wire: axis, offset: 0, unit: 1, format: formatNumber }
}

export function wireAxis(axis: Axis): WireAxis {
  return axis === "epoch" ? "samples" : axis === "wall" ? "time" : axis
}

export function shown(x: number, { offset, unit }: AxisView): number {
  return (x - offset) / unit
}

export function unshown(x: number, { offset, unit }: AxisView): number {
  return x * unit + offset
}

/** Known where the job ends after a number of epochs and has said how many samples those are. */
export function samplesPerEpoch({ stop }: JobSpec, totalSamples: number | null | undefined): number | null {
  return stop.epochs && totalSamples ? totalSamples / stop.epochs : null
}

/** The place of a point's x in its row. */
export const PLACE: Record<WireAxis, 0 | 1 | 2 | 3> = { step: 0, samples: 1, version: 2, time: 3 }

/** Moved by a share of its width. */
export function panned({ from, to }: Range, share: number): Range {
  const by = (to - from) * share
  return { from: from + by, to: to + by }
}

/** `factor` < 1 looks closer, at what lies at `share` of the width. */
export function zoomed({ from, to }: Range, factor: number, share = 0.5): Range {
  const width = to - from
  const fixed = from + width * share
  return { from: fixed - width * factor * share, to: fixed + width * factor * (1 - share) }
}

export function parseRange(text: string | null): Range | null {
  const [from, to] = (text ?? "").split("~").map((part) => (part === "" ? NaN : Number(part)))
  return Number.isFinite(from) && Number.isFinite(to) && from! < to! ? { from: from!, to: to! } : null
}

/** With as many digits as tell the pixels of a wide screen apart. */
export function writeRange(range: Range | null): string {
  if (!range) return ""
  const digits = Math.max(0, Math.ceil(4 - Math.log10(range.to - range.from)))
  return [range.from, range.to].map((x) => String(Number(x.toFixed(Math.min(digits, 12))))).join("~")
}
