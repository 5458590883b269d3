export const NONE = "–"

/** To make a formatter takes longer than to use it a hundred times, so each is made once. */
const WHOLE = new Intl.NumberFormat("en")
/** The compact notation has no name for thousands of what is above. */
export const BEYOND_TRILLIONS = 1e15
const compact = new Map<number, Intl.NumberFormat>()

/** A measured number in few characters: 0.0123, 4.57, 12.3k. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined) return NONE
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "−∞"
  const size = Math.abs(value)
  if (size !== 0 && (size < 0.001 || size >= BEYOND_TRILLIONS)) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e")
  if (size < 10_000) return size >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(digits)))
  return compactly(digits).format(value).replace("K", "k")
}

/** A figure of a column: three digits that count, zeros at the end too, so that equal lengths mean equal sizes; never 12k beside 9876. */
export function formatFigure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return formatNumber(value)
  const size = Math.abs(value)
  if (size >= 1e7 || (size !== 0 && size < 0.001)) return value.toExponential(2).replace("e+", "e")
  return size >= 100 ? WHOLE.format(Math.round(value)) : value === 0 ? "0" : value.toPrecision(3)
}

function compactly(digits: number): Intl.NumberFormat {
  const format = compact.get(digits) ?? new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: digits })
  compact.set(digits, format)
  return format
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text
}

/** A whole number in full, with separators. */
export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : WHOLE.format(Math.round(value))
}

/** "1 job", "8 jobs", "1,200 processes". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

export function formatPercent(share: number | null | undefined, digits = 1): string {
  return share === null || share === undefined || !Number.isFinite(share) ? NONE : `${(share * 100).toFixed(digits)} %`
}

/** An accuracy is a share, shown as percent. User code may return another number under that name, such as 97.2: it stays as it is. */
export function formatAccuracy(value: number | null | undefined, digits = 1): string {
  const isShare = value !== null && value !== undefined && value >= 0 && value <= 1
  return isShare ? formatPercent(value, digits) : formatNumber(value)
}

/** `3 to 5 min`, `50 s to 2 min`; null where both round to the same. */
export function formatDurationRange(low: number, high: number): string | null {
  const [from, fromUnit] = roundDuration(low)
  const [to, toUnit] = roundDuration(high)
  if (from === to && fromUnit === toUnit) return null
  return `${from}${fromUnit === toUnit ? "" : ` ${fromUnit}`} to ${to} ${toUnit}`
}

/** In the largest unit of which it holds two. */
function roundDuration(seconds: number): [number, string] {
  const units: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"]]
  const [size, unit] = units.find(([each]) => seconds >= 2 * each) ?? [1, "s"]
  return [Math.round(seconds / size), unit]
}

/** 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE
  if (seconds < 10) return `${trimZeros(Math.max(0, seconds).toFixed(1))} s`
  const whole = Math.round(seconds)
  const units: [number, string][] = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]]
  const from = units.findIndex(([size]) => whole >= size)
  const [size, unit] = units[from]!
  const next = units[from + 1]
  const rest = next ? Math.floor((whole % size) / next[0]) : 0
  return `${Math.floor(whole / size)} ${unit}${next && rest > 0 ? ` ${rest} ${next[1]}` : ""}`
}

/** A short time: 850 µs, 2.15 ms; from a second on like any other. */
export function formatMoments(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return NONE
  if (seconds >= 1) return formatDuration(seconds)
  const [value, unit] = seconds >= 0.001 ? [seconds * 1e3, "ms"] : [seconds * 1e6, "µs"]
  return `${trimZeros(value >= 100 ? value.toFixed(0) : value.toPrecision(3))} ${unit}`
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return NONE
  const units = ["B", "kB", "MB", "GB", "TB"]
  let [value, unit] = [bytes, 0]
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${formatNumber(value)} ${units[unit]}`
}

// A list of thousands of rows writes a date for each: a format made once costs a twentieth of one made for each date.
const DATE = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" })

/** "just now", "5 min ago", or the date of what is older than a day. */
export function formatAgo(iso: string | null, now: number): string {
  if (!iso) return NONE
  const seconds = (now - Date.parse(iso)) / 1000
  if (seconds < 5) return "just now"
  if (seconds < 60) return `${Math.floor(seconds)} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`
  return DATE.format(new Date(iso))
}

export function formatClock(iso: string | number): string {
  return new Date(iso).toLocaleTimeString("en-GB")
}

export function formatMoment(iso: string): string {
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" })
}

/** 23 Nov 2026 */
export function formatDay(iso: string): string {
  return new Date(iso).toLocaleDateString("en-GB", { dateStyle: "medium" })
}

export function secondsBetween(from: string | null, to: string | number | null): number | null {
  return from === null || to === null ? null : (new Date(to).getTime() - Date.parse(from)) / 1000
}
