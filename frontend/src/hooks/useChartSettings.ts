import type { Axis } from "@/lib/series"
import { put, useAddress } from "./useAddress"

const AXES: readonly Axis[] = ["samples", "step", "version", "time"]

export interface ChartSettings {
  axis: Axis
  /** Of the moving average; 0: as measured. */
  smoothing: number
  /** Names of the metrics drawn on a logarithmic scale. */
  log: readonly string[]
}

/** How charts are drawn stands in the address, so that a view can be shared. */
export function useChartSettings(): [ChartSettings, (change: Partial<ChartSettings>) => void] {
  const [params, edit] = useAddress()
  const settings: ChartSettings = {
    axis: AXES.find((axis) => axis === params.get("x")) ?? "samples",
    smoothing: Math.min(0.99, Math.max(0, Number(params.get("smooth")) || 0)),
    log: params.get("log")?.split(",") ?? [],
  }
  const change = ({ axis, smoothing, log }: Partial<ChartSettings>) =>
    edit((after) => {
      if (axis !== undefined) put(after, "x", axis === "samples" ? "" : axis)
      if (smoothing !== undefined) put(after, "smooth", smoothing === 0 ? "" : String(smoothing))
      if (log !== undefined) put(after, "log", log.join(","))
    })
  return [settings, change]
}
