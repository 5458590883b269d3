import uPlot from "uplot"
import { formatNumber } from "@/lib/format"
import { seriesColor, seriesDash, type Scheme } from "./palette"
import { drawMissing, drawThreshold } from "./marks"
import type { ChartLine, Threshold } from "@/lib/lines"

/** What of a line does not change while its points do. */
export type LineShape = Pick<ChartLine, "label" | "index" | "raw">

export interface ChartOptions {
  lines: readonly LineShape[]
  log: boolean
  scheme: Scheme
  formatX: (x: number) => string
  syncKey: string
  threshold: Threshold | null
  onCursor: (index: number | null) => void
}

/** uPlot's enum is `const`, which no single-file compiler can read. */
const LOGARITHMIC = 3 as unknown as uPlot.Scale.Distr
const FONT = "11px 'Inter Variable', system-ui, sans-serif"

/** uPlot's options for lines over one axis. Faint raw lines come first, so that the smoothed ones lie over them. */
export function chartOptions({ lines, log, scheme, formatX, syncKey, threshold, onCursor }: ChartOptions): Omit<uPlot.Options, "width" | "height"> {
  const css = getComputedStyle(document.documentElement)
  const axis: uPlot.Axis = {
    stroke: css.getPropertyValue("--mantine-color-dimmed"),
    font: FONT,
    grid: { stroke: css.getPropertyValue("--gs-grid"), width: 1 },
    ticks: { show: false },
    gap: 6,
  }
  return {
    padding: [10, 10, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: syncKey, setSeries: false }, drag: { x: true, y: false }, points: { size: 7 }, focus: { prox: 24 } },
    scales: { x: { time: false }, y: log ? { distr: LOGARITHMIC, log: 10 } : { range: linearRange(threshold) } },
    axes: [
      { ...axis, values: (_, ticks) => ticks.map((tick) => formatX(tick)), space: 70, size: 28 },
      { ...axis, values: (_, ticks) => (ticks as (number | null)[]).map((tick) => (tick === null ? "" : formatNumber(tick))), size: 52 },
    ],
    series: [{}, ...lines.filter(({ raw }) => raw).map((line) => rawSeries(line, scheme)), ...lines.map((line) => mainSeries(line, scheme))],
    hooks: {
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      draw: [(plot) => drawMissing(plot), (plot) => threshold && drawThreshold(plot, threshold, FONT)],
    },
  }
}

function mainSeries({ label, index }: LineShape, scheme: Scheme): uPlot.Series {
  return { label, stroke: seriesColor(index, scheme), width: 1.8, dash: seriesDash(index), points: { show: showsPoints } }
}

function rawSeries({ label, index }: LineShape, scheme: Scheme): uPlot.Series {
  return { label: `${label}, measured`, stroke: seriesColor(index, scheme), width: 1, alpha: 0.28, points: { show: false } }
}

/** Points are drawn while they are few; a line of one point would otherwise be invisible. */
function showsPoints(plot: uPlot, series: number): boolean {
  return Array.from(plot.data[series]!).filter((value) => typeof value === "number").length <= 40
}

/** Some air above and below, with the threshold in sight; a constant gets a range of its own size. */
function linearRange(threshold: Threshold | null): uPlot.Range.Function {
  return (_, lowest: number | null, highest: number | null) => {
    if (lowest === null || highest === null) return [0, 1]
    const low = Math.min(lowest, threshold?.value ?? lowest)
    const high = Math.max(highest, threshold?.value ?? highest)
    return withAir(low, high)
  }
}

function withAir(low: number, high: number): uPlot.Range.MinMax {
  if (low === high) return low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2]
  const air = (high - low) * 0.06
  return [low >= 0 ? Math.max(0, low - air) : low - air, high + air]
}
