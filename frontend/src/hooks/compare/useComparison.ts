import { put, useAddressView, type Change } from "@/hooks/useAddress"
import type { Scale } from "@/lib/charts/lines"
import { COMPARE_AXES, type CompareAxis } from "@/lib/compare/axes"
import type { Spread } from "@/lib/compare/curves"
import { readFieldRanges, writeFieldRanges, type FieldRange } from "@/lib/compare/ranges"
import { readPanels, writePanels, type ComparePanel } from "@/lib/views/comparePanels"

export type Direction = "at_least" | "at_most"

export interface Comparison {
  jobs: readonly string[]
  /** null: the one that tells most about these jobs. */
  metric: string | null
  axis: CompareAxis
  /** A field of the job file; null: each job alone. */
  group: string | null
  spread: Spread
  smoothing: number
  scale: Scale
  /** Labels of lines that are not drawn. */
  hidden: readonly string[]
  target: number | null
  /** null: what the catalogue says is better. */
  direction: Direction | null
  /** Fields that have an axis of the parallel coordinates; null: the first that differ. */
  fields: readonly string[] | null
  /** True: fields that do not differ are shown, too. */
  all: boolean
  /** Ids of jobs that are listed and not drawn. */
  off: readonly string[]
  /** Id of the job whose line stands out. */
  pick: string | null
  /** Fields that are columns of the table of runs; null: the metric and the first settings that differ. */
  columns: readonly string[] | null
  /** Field by which runs are sorted, behind "-" if descending; null: in the order in which they were added. */
  order: string | null
  /** Fields of the scatter plot; null: the first that say something. */
  scatterX: string | null
  scatterY: string | null
  /** Axes of the scatter plot that are logarithmic. */
  scatterLog: "" | "x" | "y" | "xy"
  /** Field of the figure that settings are to explain; null: the best value of the metric. */
  explained: string | null
  /** Only jobs inside all of these are drawn. */
  within: readonly FieldRange[]
  /** In their order. */
  panels: readonly ComparePanel[]
  /** Columns of panels, where the window is wide enough. */
  gridColumns: number
}

export const MOST_COLUMNS = 3

const SCALES: readonly Scale[] = ["linear", "log", "symlog"]

/** The comparison and its settings stand in the address: its link shows the same to others. */
export function useComparison(): [Comparison, Change<Comparison>] {
  return useAddressView(read, write)
}

/** A name in a list that commas divide. */
function toListed(name: string): string {
  return name.replaceAll(",", "%2C")
}

function fromListed(text: string): string {
  return text.replaceAll("%2C", ",")
}

function read(params: URLSearchParams): Comparison {
  const list = (key: string) => params.get(key)?.split(",").filter(Boolean) ?? []
  const number = (key: string) => (params.get(key) ? Number(params.get(key)) : NaN)
  return {
    jobs: [...new Set(list("jobs"))],
    metric: params.get("metric"),
    axis: COMPARE_AXES.find(({ value }) => value === params.get("x"))?.value ?? "samples",
    group: params.get("group"),
    spread: params.get("spread") === "deviation" ? "deviation" : "range",
    smoothing: Math.min(0.99, Math.max(0, number("smooth") || 0)),
    scale: SCALES.find((scale) => scale === params.get("scale")) ?? "linear",
    hidden: list("hide").map(fromListed),
    target: Number.isFinite(number("target")) ? number("target") : null,
    direction: (["at_least", "at_most"] as const).find((one) => one === params.get("reach")) ?? null,
    fields: params.has("fields") ? list("fields") : null,
    all: params.get("all") === "1",
    off: list("off"),
    pick: params.get("pick"),
    columns: params.has("columns") ? list("columns").map(fromListed) : null,
    order: params.get("order"),
    scatterX: params.get("sx"),
    scatterY: params.get("sy"),
    scatterLog: (["x", "y", "xy"] as const).find((one) => one === params.get("slog")) ?? "",
    explained: params.get("explain"),
    within: readFieldRanges(params.get("within") ?? ""),
    panels: readPanels(params.get("panels")),
    gridColumns: Math.min(MOST_COLUMNS, Math.max(1, Math.round(number("grid")) || 1)),
  }
}

function write(params: URLSearchParams, over: Partial<Comparison>, now: Comparison): void {
  for (const [key, value] of Object.entries(written(over))) put(params, key, value)
  if (over.columns?.length === 0) params.set("columns", "")
  if (over.fields?.length === 0) params.set("fields", "") // none, which is not the default
  if (over.axis !== undefined && over.axis !== now.axis) put(params, "range", "") // a range of samples says nothing about time
}

/** As it stands in the address; what is the default is left out. */
function written(over: Partial<Comparison>): Record<string, string> {
  const { jobs, metric, axis, group, spread, smoothing, scale, hidden, target, direction, fields, all } = over
  const { off, pick, columns, order, scatterX, scatterY, scatterLog, explained, within, panels, gridColumns } = over
  return {
    ...(jobs && { jobs: jobs.join(",") }),
    ...(metric !== undefined && { metric: metric ?? "" }),
    ...(axis && { x: axis === "samples" ? "" : axis }),
    ...(group !== undefined && { group: group ?? "", hide: "" }), // other lines, with other names
    ...(spread && { spread: spread === "range" ? "" : spread }),
    ...(smoothing !== undefined && { smooth: smoothing === 0 ? "" : String(smoothing) }),
    ...(scale && { scale: scale === "linear" ? "" : scale }),
    ...(hidden && { hide: hidden.map(toListed).join(",") }),
    ...(target !== undefined && { target: target === null ? "" : String(target) }),
    ...(direction !== undefined && { reach: direction ?? "" }),
    ...(fields !== undefined && { fields: fields?.join(",") ?? "" }),
    ...(all !== undefined && { all: all ? "1" : "" }),
    ...(off && { off: off.join(",") }),
    ...(pick !== undefined && { pick: pick ?? "" }),
    ...(columns !== undefined && { columns: columns?.map(toListed).join(",") ?? "" }),
    ...(order !== undefined && { order: order ?? "" }),
    ...(scatterX !== undefined && { sx: scatterX ?? "" }),
    ...(scatterY !== undefined && { sy: scatterY ?? "" }),
    ...(scatterLog !== undefined && { slog: scatterLog }),
    ...(explained !== undefined && { explain: explained ?? "" }),
    ...(within && { within: writeFieldRanges(within) }),
    ...(panels && { panels: writePanels(panels) }),
    ...(gridColumns !== undefined && { grid: gridColumns === 1 ? "" : String(gridColumns) }),
  }
}
