import { put, useAddressView, type Change } from "@/hooks/useAddress"
import type { Scale } from "@/lib/charts/lines"
import { COMPARE_AXES, type CompareAxis } from "@/lib/compare/axes"
import type { Spread } from "@/lib/compare/curves"

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
}

const SCALES: readonly Scale[] = ["linear", "log", "symlog"]

/** The comparison and its settings stand in the address: its link shows the same to others. */
export function useComparison(): [Comparison, Change<Comparison>] {
  return useAddressView(read, write)
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
    hidden: list("hide").map((label) => label.replaceAll("%2C", ",")),
    target: Number.isFinite(number("target")) ? number("target") : null,
    direction: (["at_least", "at_most"] as const).find((one) => one === params.get("reach")) ?? null,
    fields: params.has("fields") ? list("fields") : null,
    all: params.get("all") === "1",
  }
}

function write(params: URLSearchParams, over: Partial<Comparison>, now: Comparison): void {
  for (const [key, value] of Object.entries(written(over))) put(params, key, value)
  if (over.fields?.length === 0) params.set("fields", "") // none, which is not the default
  if (over.axis !== undefined && over.axis !== now.axis) put(params, "range", "") // a range of samples says nothing about time
}

/** As it stands in the address; what is the default is left out. */
function written(over: Partial<Comparison>): Record<string, string> {
  const { jobs, metric, axis, group, spread, smoothing, scale, hidden, target, direction, fields, all } = over
  return {
    ...(jobs && { jobs: jobs.join(",") }),
    ...(metric !== undefined && { metric: metric ?? "" }),
    ...(axis && { x: axis === "samples" ? "" : axis }),
    ...(group !== undefined && { group: group ?? "", hide: "" }), // other lines, with other names
    ...(spread && { spread: spread === "range" ? "" : spread }),
    ...(smoothing !== undefined && { smooth: smoothing === 0 ? "" : String(smoothing) }),
    ...(scale && { scale: scale === "linear" ? "" : scale }),
    ...(hidden && { hide: hidden.map((label) => label.replaceAll(",", "%2C")).join(",") }),
    ...(target !== undefined && { target: target === null ? "" : String(target) }),
    ...(direction !== undefined && { reach: direction ?? "" }),
    ...(fields !== undefined && { fields: fields?.join(",") ?? "" }),
    ...(all !== undefined && { all: all ? "1" : "" }),
  }
}
