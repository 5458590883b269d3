import { lazy } from "react"
import { loadPart, preparePart } from "@/lib/browser/parts"

interface Part {
  default: typeof import("./MetricPanel").MetricPanel
}

let ready: Part | null = null
const load = async (): Promise<Part> => (ready = { default: (await import("./MetricPanel")).MetricPanel })

/** Brings the drawing of charts along, which pages without any need not. */
export const MetricPanel = lazy(() => (ready ? atOnce(ready) : loadPart(load)))

/** Fetches it for charts that are wanted soon: which, is known once the job has been read. */
export function prepareCharts(): void {
  void preparePart(load)
}

/** React waits for no promise that calls back at once. For any other it shows a placeholder, which it then keeps for 300 ms. */
function atOnce(part: Part): Promise<Part> {
  return { then: (take: (part: Part) => void) => take(part) } as unknown as Promise<Part>
}
