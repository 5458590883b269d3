import uPlot from "uplot"
import type { AxisView } from "@/lib/charts/axes"
import type { Scale } from "@/lib/charts/lines"
import { logTicks, numbered, symlogTicks, TICK_STEPS } from "@/lib/charts/scales/ticks"
import { axisTitle, valueUnit, writeTick, type ValueUnit } from "@/lib/charts/scales/units"
import { FONT } from "./picture"
import { airy, largestOf, type Window } from "./window"

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
  title: string
  quantity: string
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
/** CSS pixels: least width of the words at the values' axis, so that charts above each other mostly begin at one place. */
const NARROWEST_AXIS = 38
const GAP = 10
/** CSS pixels: least distance of numbers at the values' axis, as uPlot has it, too. */
const SPACE = 30
const OVERHANG = 22
const TITLE_SIZE = 18

/** uPlot draws axes, grid and cursor and lets a range be selected; the lines are columns, which `draw` draws. */
export function plotOptions(given: PlotOptions): Omit<uPlot.Options, "width" | "height"> {
  const { view, scale, title, quantity, syncKey, window, draw, onCursor, onSelect, onReset } = given
  const axis = axisStyle()
  const threshold = thresholdOf(window())
  const unit = (): ValueUnit => valueUnit(quantity, largestOf(window()))
  return {
    padding: [10, overhang, 0, 0],
    legend: { show: false },
    cursor: {
      sync: { key: syncKey, setSeries: false, filters: { pub: hovers, sub: hovers } },
      drag: { x: true, y: false, setScale: false },
      points: { show: false },
      bind: { dblclick: () => () => (onReset(), null) },
    },
    scales: {
      x: { time: view.axis === "wall", range: () => window().x },
      y: { distr: DISTRIBUTION[scale], log: 10, asinh: threshold, range: () => airy(window().y, scale) },
    },
    axes: [
      { ...axis, label: view.label, values: (_, ticks, _axis, _space, step) => ticks.map((tick) => view.format(tick, step)), space: 70, size: 24 },
      {
        ...axis,
        ...ticksOf(scale, threshold),
        label: (plot) => fitting(plot, title, unit()),
        values: (_, ticks, _axis, _space, step) => (ticks as (number | null)[]).map((tick) => (tick === null ? "" : writeTick(tick, scale === "linear" ? step : null, unit()))),
        size: (plot, words) => Math.max(NARROWEST_AXIS, GAP + widest(plot, words)),
      },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [draw],
      setCursor: [(plot) => onCursor(cursorOf(plot), plot)],
      setSelect: [(plot) => selected(plot, onSelect)],
    },
  }
}

/** The places of ticks at the values' axis, and which of them get a number. */
function ticksOf(scale: Scale, threshold: number): Pick<uPlot.Axis, "incrs" | "space" | "splits" | "filter"> {
  if (scale === "linear") return { incrs: TICK_STEPS, space: SPACE }
  return {
    incrs: TICK_STEPS,
    space: SPACE,
    splits: (plot, _, low, high) => (scale === "log" ? logTicks(low, high, pixelsOf(plot)) : symlogTicks(low, high, threshold, pixelsOf(plot))),
    filter: (plot, ticks) => numbered(ticks, pixelsOf(plot)),
  }
}

/** A factor of ten has the pixels of the one below the value that is furthest from 0. */
function pixelsOf(plot: uPlot) {
  const { min = 0, max = 1 } = plot.scales.y!
  const furthest = Math.abs(min) > Math.abs(max) ? min : max
  return { decade: Math.abs(plot.valToPos(furthest / 10, "y") - plot.valToPos(furthest, "y")), space: SPACE }
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
    labelFont: FONT,
    labelSize: TITLE_SIZE,
    labelGap: 2,
  }
}

/** CSS pixels that the longest of these words takes. uPlot believes the context to have the font that it gave it, in device pixels. */
export function widest({ ctx }: uPlot, words: readonly (string | null)[] | null, font = FONT): number {
  ctx.save()
  ctx.font = font
  const widths = (words ?? []).map((word) => ctx.measureText(word ?? "").width)
  ctx.restore()
  return Math.max(0, ...widths)
}

/** CSS pixels to the right of the axis, where half of the last tick's words can stand. */
function overhang(plot: uPlot): number {
  const { _values: words } = plot.axes[0] as { _values?: (string | null)[] | null }
  return Math.max(OVERHANG, widest(plot, words ?? null) / 2 + 4)
}

/** The title of the values' axis; its unit alone where the title is longer than the axis. */
function fitting(plot: uPlot, title: string, unit: ValueUnit): string {
  const whole = axisTitle(title, unit)
  return widest(plot, [whole]) <= plot.bbox.height / devicePixelRatio ? whole : unit.name
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
function thresholdOf(window: Window): number {
  const largest = largestOf(window)
  return largest > 0 ? 10 ** Math.floor(Math.log10(largest) - 3) : 1
}
