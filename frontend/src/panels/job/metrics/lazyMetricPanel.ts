import { lazy } from "react"
import { loadPart, preparePart } from "@/lib/browser/parts"

const load = async () => ({ default: (await import("./MetricPanel")).MetricPanel })

/** Brings the drawing of charts along, which pages without any need not. */
export const MetricPanel = lazy(() => loadPart(load))

/** Fetches it for charts that are wanted soon: once the job has been read, it is known which. */
export function prepareCharts(): void {
  void preparePart(load)
}
