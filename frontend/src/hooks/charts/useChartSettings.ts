import { useParams } from "react-router"
import { put, useAddressView, type Change } from "@/hooks/useAddress"
import { AXES, parseRange, wireAxis, writeRange, type Axis, type Range } from "@/lib/charts/axes"
import type { Scale } from "@/lib/charts/lines"
import { measureOf, type MeasureName } from "@/lib/staleness/stale"

export interface ChartSettings {
  axis: Axis
  /** Several workers by their mean and range, or a line for each. */
  lines: "mean" | "each"
  /** Strength of the moving average; 0: as measured. */
  smoothing: number
  /** Names of the metrics drawn on a logarithmic scale, and on one that has both signs. */
  log: readonly string[]
  symlog: readonly string[]
  /** Visible range, in the units of the server; null: all. */
  range: Range | null
  /** Labels of lines that are not drawn. */
  hidden: readonly string[]
  /** The metric that fills the screen. */
  full: string | null
  pinned: readonly string[]
  /** Groups of metrics that are folded. */
  folded: readonly string[]
  search: string
  /** Value that a cell of the heat map shows. */
  cell: "mean" | "high"
  /** Measure in which staleness is shown. */
  measure: MeasureName
}

const LISTS = { log: "log", symlog: "symlog", hidden: "hide", pinned: "pin", folded: "fold" } as const

/** How charts are drawn stands in the address, so that a view can be shared. */
export function useChartSettings(): [ChartSettings, Change<ChartSettings>] {
  const { tab } = useParams()
  const usual: Axis = tab === "staleness" ? "time" : "samples"
  return useAddressView((params) => read(params, usual), (params, over, now) => write(params, over, now, usual))
}

/** A range without an axis is one of samples, on every tab. */
function read(params: URLSearchParams, usual: Axis): ChartSettings {
  const list = (key: keyof typeof LISTS) => params.get(LISTS[key])?.split(",").map((item) => item.replaceAll("%2C", ",")) ?? []
  return {
    axis: AXES.find(({ value }) => value === params.get("x"))?.value ?? (params.has("range") ? "samples" : usual),
    lines: params.get("lines") === "each" ? "each" : "mean",
    smoothing: Math.min(0.99, Math.max(0, Number(params.get("smooth")) || 0)),
    log: list("log"),
    symlog: list("symlog"),
    range: parseRange(params.get("range")),
    hidden: list("hidden"),
    full: params.get("full"),
    pinned: list("pinned"),
    folded: list("folded"),
    search: params.get("q") ?? "",
    cell: params.get("cell") === "high" ? "high" : "mean",
    measure: measureOf(params.get("stale")),
  }
}

function write(params: URLSearchParams, over: Partial<ChartSettings>, now: ChartSettings, usual: Axis): void {
  const { axis, lines, smoothing, range, full, search, cell, measure } = over
  // A range of samples says nothing about steps: another axis shows all, unless a range comes with it.
  if (axis !== undefined && wireAxis(axis) !== wireAxis(now.axis)) put(params, "range", "")
  if (lines !== undefined) put(params, "lines", lines === "mean" ? "" : lines)
  if (smoothing !== undefined) put(params, "smooth", smoothing === 0 ? "" : String(smoothing))
  if (range !== undefined) put(params, "range", writeRange(range))
  if (axis !== undefined || range !== undefined) {
    const shown = axis ?? now.axis
    put(params, "x", shown === (params.has("range") ? "samples" : usual) ? "" : shown)
  }
  if (full !== undefined) put(params, "full", full ?? "")
  if (search !== undefined) put(params, "q", search)
  if (cell !== undefined) put(params, "cell", cell === "mean" ? "" : cell)
  if (measure !== undefined) put(params, "stale", measure === "versions" ? "" : measure)
  for (const [key, name] of Object.entries(LISTS) as [keyof typeof LISTS, string][]) {
    if (over[key] !== undefined) put(params, name, over[key].map((item) => item.replaceAll(",", "%2C")).join(","))
  }
}

/** The list with the item if it lacked it, else without. */
export function toggled(list: readonly string[], item: string): string[] {
  return list.includes(item) ? list.filter((other) => other !== item) : [...list, item]
}

export function scaleOf(name: string, { log, symlog }: ChartSettings): Scale {
  return log.includes(name) ? "log" : symlog.includes(name) ? "symlog" : "linear"
}

/** The lists as they are when one metric is drawn on another scale. */
export function withScale(name: string, scale: Scale, { log, symlog }: ChartSettings): Pick<ChartSettings, "log" | "symlog"> {
  const without = (names: readonly string[]) => names.filter((other) => other !== name)
  return { log: scale === "log" ? [...without(log), name] : without(log), symlog: scale === "symlog" ? [...without(symlog), name] : without(symlog) }
}
