import type { Job } from "@/client"
import { BEYOND_TRILLIONS, formatClock, formatCount, formatDuration, formatNumber } from "@/lib/format"

/** Axes by which the server can sort points. */
export type WireAxis = "samples" | "step" | "version" | "time"
export type Axis = WireAxis | "epoch" | "wall"

/** Range of an axis, in the units of the server. */
export interface Range {
  from: number
  to: number
}

/** How what the server sorts by is shown: (x - offset) / unit. */
export interface AxisView {
  axis: Axis
  /** Its quantity: "Samples". */
  label: string
  wire: WireAxis
  offset: number
  unit: number
  /** `step`: the distance of ticks, which are to be told apart. */
  format: (x: number, step?: number) => string
  /** One place in full, so that it differs from its neighbours. */
  exact: (x: number) => string
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
  const label = AXES.find(({ value }) => value === axis)!.label
  if (axis === "time") return { axis, label, wire: "time", offset: origin, unit: 1, format: formatSeconds, exact: exactSeconds }
  if (axis === "wall") return { axis, label, wire: "time", offset: 0, unit: 1, format: formatWall, exact: (x) => formatWall(x, 0.001) }
  if (axis === "epoch") return { axis, label, wire: "samples", offset: 0, unit: samplesPerEpoch ?? 1, format: formatStepped, exact: exactEpochs }
  return { axis, label, wire: axis, offset: 0, unit: 1, format: formatStepped, exact: formatCount }
}

/** Epochs of up to a million samples have neighbours that differ in the sixth decimal. */
function exactEpochs(epochs: number): string {
  return String(Number(epochs.toFixed(6)))
}

/** 75.25 s, 1 h 2 min 5.25 s. */
function exactSeconds(seconds: number): string {
  if (Math.abs(seconds) < 60) return `${Number(seconds.toFixed(3))} s`
  const whole = Math.trunc(Math.abs(seconds) / 60)
  const [hours, minutes, rest] = [Math.trunc(whole / 60), whole % 60, Number((Math.abs(seconds) % 60).toFixed(2))]
  return `${seconds < 0 ? "-" : ""}${hours > 0 ? `${hours} h ` : ""}${minutes} min ${rest} s`
}

/** A number with as many digits as tell it from one that lies `step` beside it. */
export function formatStepped(value: number, step?: number): string {
  if (step === undefined || !(step > 0)) return formatNumber(value)
  if (Math.abs(value) >= BEYOND_TRILLIONS) return formatLarge(value, step)
  const decimals = decimalsOf(step)
  if (decimals > 6) return value.toExponential(2)
  if (decimals > 0 || Math.abs(value) < 10_000) return value.toFixed(decimals)
  return isRound(step) ? formatNumber(value, Math.max(3, Math.ceil(Math.log10(Math.abs(value) / step)) + 1)) : formatCount(value)
}

/** 1.25e33: numbers beyond those that have a name, with as many decimals as tell ticks apart. */
function formatLarge(value: number, step: number): string {
  const [digits, power] = partsOf(step)
  const decimals = partsOf(value)[1] - power + (digits.split(".")[1]?.length ?? 0)
  return value.toExponential(Math.min(15, Math.max(0, decimals))).replace("e+", "e")
}

/** "2.5" and 32 of 2.5e32. */
function partsOf(value: number): [digits: string, power: number] {
  const [digits, power] = value.toExponential().split("e") as [string, string]
  return [digits, Number(power)]
}

/** Ticks so far apart that thousands and millions with at most two decimals tell them apart. */
function isRound(step: number): boolean {
  return step % 1000 === 0 && (step < 1e6 || step % 1e4 === 0)
}

/** 2 of 0.25 and 0.05; 1 of 0.5. */
function decimalsOf(step: number): number {
  return [0, 1, 2, 3, 4, 5, 6].find((digits) => Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) < 1e-6) ?? 7
}

function formatSeconds(seconds: number, step = 1): string {
  return step % 1 !== 0 ? `${formatStepped(seconds, step)} s` : seconds < 0 ? `-${formatDuration(-seconds)}` : formatDuration(seconds)
}

function formatWall(seconds: number, step = 1): string {
  return step < 1 ? `${formatClock(seconds * 1000)}${(seconds % 1).toFixed(Math.min(3, Math.ceil(-Math.log10(step)))).slice(1)}` : formatClock(seconds * 1000)
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

/** As a worker has counted its data; of earlier jobs, known where they ended after a number of epochs. */
export function samplesPerEpoch({ spec: { stop }, progress }: Pick<Job, "spec" | "progress">): number | null {
  const { epoch_samples: counted, total_samples: total } = progress
  return counted ?? (stop.epochs && total ? total / stop.epochs : null)
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

/** Fingers that are closer than this share of the width are taken to be as far apart: else a twist would jump. */
const CLOSEST = 0.04

/** As fingers went from one set of shares of the width to another: what lay under their middle still does, as far apart as they are now. */
export function pinched({ from, to }: Range, before: readonly number[], now: readonly number[]): Range {
  const [held, middle] = [middleOf(before), middleOf(now)]
  const width = to - from
  const wide = now.length < 2 ? width : (width * spreadOf(before)) / spreadOf(now)
  const left = from + width * held - wide * middle
  return { from: left, to: left + wide }
}

function middleOf(shares: readonly number[]): number {
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

function spreadOf(shares: readonly number[]): number {
  return Math.max(CLOSEST, Math.max(...shares) - Math.min(...shares))
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
