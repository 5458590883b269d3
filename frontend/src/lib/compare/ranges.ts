import type { Compared } from "./groups"
import { valueIn, type RunField } from "./runs"

/** Values of a field that a job must have to be drawn. */
export interface FieldRange {
  field: string
  /** null: no bound on this side. */
  low: number | null
  high: number | null
}

const ONE = /^(.+):([^:~]*)~([^:~]*)$/

/** From "strategy.lr:0.1~0.3,best:~2": a bound that is missing or unreadable is none, a range without any is left out. */
export function readFieldRanges(text: string): FieldRange[] {
  return text.split(",").flatMap((one) => {
    const [, field, low, high] = ONE.exec(one) ?? []
    if (field === undefined) return []
    const range = { field: field.replaceAll("%2C", ","), low: bound(low!), high: bound(high!) }
    return range.low === null && range.high === null ? [] : [range]
  })
}

export function writeFieldRanges(ranges: readonly FieldRange[]): string {
  return ranges.map(({ field, low, high }) => `${field.replaceAll(",", "%2C")}:${low ?? ""}~${high ?? ""}`).join(",")
}

function bound(text: string): number | null {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null
}

/** Bounds of a field to change: one that is left out stays. */
export type RangeChange = Pick<FieldRange, "field"> & Partial<FieldRange>

/** With this change of the range of a field; a range without a bound leaves. */
export function withRange(ranges: readonly FieldRange[], change: RangeChange): FieldRange[] {
  const before = ranges.find(({ field }) => field === change.field) ?? { low: null, high: null }
  const range = { ...before, ...change }
  const others = ranges.filter(({ field }) => field !== range.field)
  return range.low === null && range.high === null ? others : [...others, range]
}

/** True if the job has a number inside each range. A range of an unknown field keeps no job out. */
export function isWithin(job: Compared, ranges: readonly FieldRange[], fields: readonly RunField[]): boolean {
  return ranges.every(({ field, low, high }) => {
    const found = fields.find(({ key }) => key === field)
    if (!found) return true
    const value = valueIn(found, job)
    return typeof value === "number" && (low === null || value >= low) && (high === null || value <= high)
  })
}
