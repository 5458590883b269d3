import { formatNumber, NONE } from "@/lib/format"
import { formatStepped } from "@/lib/charts/axes"

/** The unit in which one chart writes all of its values, on its axis as in its legend. */
export interface ValueUnit {
  /** "ms"; "" for numbers without a unit. */
  name: string
  /** One of it, in the metric's unit. */
  size: number
  /** Stands beside each value; a counted unit, such as updates, stands at the axis and in the tooltip. */
  short: boolean
}

type Step = readonly [name: string, size: number]

/** Units of one quantity, the smallest first. */
const STEPS: Readonly<Record<string, readonly Step[]>> = {
  s: [["µs", 1e-6], ["ms", 1e-3], ["s", 1]],
  bytes: [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]],
  share: [["%", 0.01]],
  cores: [["%", 0.01]],
}
/** Units that are no quantity. */
const PLAIN = ["1", ""]

/** `unit` is the metric's; `largest` the greatest absolute value in sight. A share above 1 is none: user code may call 97.2 an accuracy. */
export function valueUnit(unit: string, largest: number): ValueUnit {
  const steps = unit === "share" && largest > 1 ? undefined : STEPS[unit]
  if (!steps) return { name: PLAIN.includes(unit) || unit === "share" ? "" : unit, size: 1, short: false }
  const [name, size] = steps.findLast(([, size]) => largest >= size) ?? steps[0]!
  return { name, size, short: true }
}

/** A value as legends and tables write it. */
export function writeValue(value: number | null, { name, size, short }: ValueUnit): string {
  if (value === null) return NONE
  const number = formatNumber(value / size)
  return short && Number.isFinite(value) ? `${number} ${name}` : number
}

/** A value on its own, with its unit. */
export function sayValue(value: number, unit: ValueUnit): string {
  const written = writeValue(value, unit)
  return unit.short || !unit.name || unit.name === "loss" || !Number.isFinite(value) ? written : `${written} ${unit.name}`
}

/** The text of a tick; `step`: the distance of ticks, null where it is not the same for all. */
export function writeTick(value: number, step: number | null, { size }: ValueUnit): string {
  return step === null ? formatRound(value / size) : formatStepped(value / size, step / size)
}

/** A number with one digit that counts, as ticks of logarithmic axes have: 1e26, where a measured number is 1.0e26. */
function formatRound(value: number): string {
  return formatNumber(value).replace(".0e", "e")
}

/** "Compute time, ms". */
export function axisTitle(title: string, { name }: ValueUnit): string {
  return name && name !== "loss" ? `${title}, ${name}` : title
}
