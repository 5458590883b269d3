import uPlot from "uplot"
import { formatStepped, type AxisView } from "@/lib/charts/axes"
import type { Scale } from "@/lib/charts/lines"
import { formatNumber } from "@/lib/format"
import { FONT } from "./picture"
import { airy, type Window } from "./window"

export interface Cursor {
  /** As it is shown. */
  x: number
  /** CSS pixels in the plot. */
  left: number
  top: number
}

export interface PlotOptions {
  view: AxisView
  scale: Scale
  /** Charts with the same key share the cross-hair. */
  syncKey: string
  window: () => Window
  draw: (plot: uPlot) => void
  /** Where the cursor is, its own or that of a chart with the same key; null: nowhere. */
  onCursor: (cursor: Cursor | null, plot: uPlot) => void
  /** Ends of a range that was drawn, as they are shown. */
  onSelect: (from: number, to: number) => void
  onReset: () => void
}

/** uPlot's enum is `const`, which no single-file compiler can read. */
const DISTRIBUTION = { linear: 1, log: 3, symlog: 4 } as unknown as Record<Scale, uPlot.Scale.Distr>
const NARROWEST_PX = 4

/** uPlot draws axes, grid and cursor and lets a range be selected; the lines are columns, which `draw` draws. */
export function plotOptions(given: PlotOptions): Omit<uPlot.Options, "width" | "height"> {
  const { view, scale, syncKey, window, draw, onCursor, onSelect, onReset } = given
  const axis = axisStyle()
  return {
    padding: [10, 22, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: syncKey, setSeries: false, filters: { pub: hovers, sub: hovers } },
      drag: { x: true, y: false, setScale: false },
      points: { show: false },
      bind: { dblclick: () => () => (onReset(), null) },
    },
    scales: {
      x: { time: view.axis === "wall", range: () => window().x },
      y: { distr: DISTRIBUTION[scale], log: 10, asinh: thresholdOf(window().y), range: () => airy(window().y, scale) },
    },
    axes: [
      { ...axis, values: (_, ticks, _axis, _space, step) => ticks.map((tick) => view.format(tick, step)), space: 70, size: 28 },
      { ...axis, values: (_, ticks, _axis, _space, step) => (ticks as (number | null)[]).map((tick) => (tick === null ? "" : scale === "linear" ? formatStepped(tick, step) : formatNumber(tick))), size: 52 },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [draw],
      setCursor: [(plot) => onCursor(cursorOf(plot), plot)],
      setSelect: [(plot) => selected(plot, onSelect)],
    },
  }
}

function cursorOf(plot: uPlot): Cursor | null {
  const { left = -1, top = -1 } = plot.cursor
  return left < 0 ? null : { x: plot.posToVal(left, "x"), left, top }
}

function axisStyle(): uPlot.Axis {
  const css = getComputedStyle(document.documentElement)
  return {
    stroke: css.getPropertyValue("--mantine-color-dimmed"),
    font: FONT,
    grid: { stroke: css.getPropertyValue("--gs-grid"), width: 1 },
    ticks: { show: false },
    gap: 6,
  }
}

/** The cross-hair alone is shared by uPlot; ranges are by the page, which keeps them in its address. */
function hovers(type: string): boolean {
  return type === "mousemove" || type === "mouseleave"
}

function selected(plot: uPlot, onSelect: PlotOptions["onSelect"]): void {
  const { left, width } = plot.select
  if (width >= NARROWEST_PX) onSelect(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"))
  if (width > 0) plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
}

/** Below a thousandth of what is largest, a symmetric logarithm is linear. */
function thresholdOf([low, high]: [number, number]): number {
  const largest = Math.max(Math.abs(low), Math.abs(high))
  return largest > 0 ? 10 ** Math.floor(Math.log10(largest) - 3) : 1
}
