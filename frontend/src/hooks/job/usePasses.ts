import { useMemo } from "react"
import { useColumns } from "@/hooks/charts/useChart"
import { useReading } from "@/hooks/charts/useReading"
import type { Range } from "@/lib/charts/axes"
import { closedPasses, examplesBehind, newestPass, type LinesOfPasses, type PassFigure } from "@/lib/job/passes"
import { useFeed } from "./useFeed"
import { useExports } from "./files/useFiles"

/** Passes that the table shows. */
const SHOWN = 50
/** Only the latest values are wanted. */
const COLUMNS = 50
/** The server draws so many columns at most: one for each pass of a range. */
const RANGE = 4000
/** The range moves on by so many passes at a time, so that not each pass asks the server anew. */
const STEP = 1000

/** The closed passes over the data, the newest first, with their exports; and the examples that workers have still to train. */
export function usePasses() {
  const job = useFeed((feed) => feed.job)
  const exports = useExports(job).data?.items ?? []
  const all = useColumns("pass/log_loss", "step", null, COLUMNS)
  const newest = newestPass(useReading(all.data))
  const from = Math.max(0, Math.floor(((newest ?? 0) - SHOWN) / STEP) * STEP)
  const range = useMemo(() => ({ from, to: from + RANGE - 1 }), [from])
  const width = newest === null ? null : RANGE
  const auc = useFigure("auc", range, width)
  const logLoss = useFigure("log_loss", range, width)
  const calibration = useFigure("calibration", range, width)
  const lines: LinesOfPasses = new Map([
    ["auc", auc.lines],
    ["log_loss", logLoss.lines],
    ["calibration", calibration.lines],
  ])
  const behind = examplesBehind(useReading(useColumns("data/behind", "time", null, COLUMNS).data))
  // Before the first pass is known, nothing is asked of the range.
  return { chart: newest === null ? all : logLoss.chart, passes: closedPasses(lines, exports, SHOWN), behind }
}

function useFigure(figure: PassFigure, range: Range, width: number | null) {
  const chart = useColumns(`pass/${figure}`, "step", range, width)
  return { chart, lines: useReading(chart.data) }
}
