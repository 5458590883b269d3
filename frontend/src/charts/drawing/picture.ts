import type uPlot from "uplot"
import { seriesColor, seriesDash, type Scheme } from "@/charts/palette"
import { shown, type AxisView, type Range } from "@/lib/charts/axes"
import { after } from "@/lib/charts/columns"
import { gapOf, type ChartLine, type Scale, type Threshold } from "@/lib/charts/lines"
import type { Mark } from "@/lib/charts/marks"
import { drawCross, drawMarks, drawOdd, drawThreshold } from "./marks"
import { fill, stroke } from "./strokes"
import { joined, lonely, traceBand, traceColumns, traceMeans, type Place } from "./trace"

/** All that a picture shows. */
export interface Picture {
  lines: readonly ChartLine[]
  view: AxisView
  /** Names the values, and their quantity, of which the values in sight choose the unit. */
  title: string
  quantity: string
  /** Visible range, in the units of the server; null: all. */
  range: Range | null
  scale: Scale
  threshold: Threshold | null
  /** Over time: moments to mark. */
  marks?: readonly Mark[]
  scheme: Scheme
  /** Label of the line that stands out, if one of the lines has it. */
  standsOut?: string | null
}

export const FONT = "11px 'Inter Variable', system-ui, sans-serif"
const FAINT = 0.35
const BAND = 0.14
/** Opacity of the lines beside one that stands out, as the last two digits of a colour. */
const BESIDE = "2e"
/** Lines with fewer columns in sight have a dot at each. */
const FEW = 40

function placeOf(plot: uPlot, { view, scale }: Picture, { columns: { x } }: ChartLine, gap: number): Place {
  const { min, max } = plot.scales.x as { min: number; max: number }
  const bottom = plot.bbox.top + plot.bbox.height + 1
  const [left, right] = [min, max].map((value) => plot.valToPos(value, "x", true)) as [number, number]
  const perUnit = (right - left) / (max - min)
  return {
    x: (value) => left + (shown(value, view) - min) * perUnit,
    y: scale === "linear" ? straight(plot) : (value) => (scale === "log" && value <= 0 ? bottom : plot.valToPos(value, "y", true)),
    from: Math.max(0, after(x, min * view.unit + view.offset) - 1),
    to: Math.min(x.length - 1, after(x, max * view.unit + view.offset)),
    gap,
  }
}

/** Places of values on a linear scale as uPlot computes them, without a call of it for each. */
function straight(plot: uPlot): (value: number) => number {
  const { min, max } = plot.scales.y as { min: number; max: number }
  const [low, high] = [plot.valToPos(min, "y", true), plot.valToPos(max, "y", true)]
  const perUnit = (high - low) / (max - min)
  return (value) => low + (value - min) * perUnit
}

/** Part of a line that stands on the canvas. */
export interface Drawn {
  line: ChartLine
  /** Columns, in sight or not. */
  count: number
  gap: number
  /** Each column has a dot. */
  dotted: boolean
  /** Device pixels since its dashes began. */
  inked: number
}

/** Draws the lines into the plot whose axes uPlot has drawn. */
export function drawPicture(plot: uPlot, picture: Picture): Drawn[] {
  const drawn = clipped(plot, () => picture.lines.map((line) => drawWhole(plot, picture, line)))
  const { min, max } = plot.scales.x as { min: number; max: number }
  const { left, width } = plot.bbox
  drawMarks(plot.ctx, picture.marks ?? [], (x) => left + (width * (shown(x, picture.view) - min)) / (max - min), plot.bbox)
  if (picture.threshold) drawThreshold(plot, picture.threshold, FONT)
  return drawn
}

/** Draws what has come to the lines since, into axes that have stayed as they were; null: only drawing all anew gives the picture. */
export function drawAdded(plot: uPlot, picture: Picture, before: readonly Drawn[]): Drawn[] | null {
  const { lines } = picture
  if (lines.length !== before.length || !lines.every((line, index) => goesOn(line, before[index]!))) return null
  return clipped(plot, () => lines.map((line, index) => drawRest(plot, picture, line, before[index]!)))
}

/** Few columns have dots, which more would not have; so has a last one that nothing joins, until a line leads on from it. */
function goesOn({ columns, averaged, label, index }: ChartLine, { line, count, gap, dotted }: Drawn): boolean {
  if (columns !== line.columns || averaged !== line.averaged || label !== line.label || index !== line.index) return false
  return columns.x.length === count || (!dotted && (Number.isNaN(columns.mean[count - 1]) || joined(columns, count - 2, gap)))
}

function clipped<Result>({ ctx, bbox }: uPlot, draw: () => Result): Result {
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  ctx.lineJoin = "round"
  const result = draw()
  ctx.restore()
  return result
}

function drawWhole(plot: uPlot, picture: Picture, line: ChartLine): Drawn {
  const { columns } = line
  const gap = gapOf(picture.view, columns)
  const place = placeOf(plot, picture, line, gap)
  const few = place.to - place.from < FEW
  plot.ctx.strokeStyle = plot.ctx.fillStyle = colorOf(line, picture)
  const inked = drawLine(plot, line, place)
  dots(plot, line, place, few ? range(place) : lonely(columns, place))
  crosses(plot, picture, line, place)
  return { line, count: line.means.length, gap, dotted: few, inked }
}

function drawRest(plot: uPlot, picture: Picture, line: ChartLine, before: Drawn): Drawn {
  const { count, gap } = before
  if (line.columns.x.length === count) return before
  const place = placeOf(plot, picture, line, gap)
  const fresh = { ...place, from: Math.max(count, place.from) }
  plot.ctx.strokeStyle = plot.ctx.fillStyle = colorOf(line, picture)
  const inked = drawLine(plot, line, { ...place, from: count - 1, goesOn: true }, before.inked)
  dots(plot, line, place, lonely(line.columns, fresh))
  crosses(plot, picture, line, fresh)
  return { ...before, line, count: line.means.length, inked }
}

function colorOf({ label, index }: ChartLine, { lines, scheme, standsOut }: Picture): string {
  const isBeside = standsOut != null && label !== standsOut && lines.some((line) => line.label === standsOut)
  return seriesColor(index, scheme) + (isBeside ? BESIDE : "")
}

/** Returns device pixels since its dashes began; `inked` of them have been drawn before. */
function drawLine({ ctx }: uPlot, line: ChartLine, place: Place, inked = 0): number {
  const dash = seriesDash(line.index)
  if (!line.averaged) return stroke(ctx, { width: 1.6, dash, inked }, (pen) => traceColumns(pen, line.columns, place))
  fill(ctx, BAND, (pen) => traceBand(pen, line.columns, place))
  if (!line.spread) stroke(ctx, { width: 1, alpha: FAINT }, (pen) => traceColumns(pen, line.columns, place))
  return stroke(ctx, { width: 2, dash, inked }, (pen) => traceMeans(pen, line.columns, line.means, place))
}

function range({ from, to }: Place): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
}

function dots({ ctx }: uPlot, { columns, means }: ChartLine, place: Place, indices: readonly number[]): void {
  for (const index of indices) {
    if (!Number.isFinite(means[index])) continue
    ctx.beginPath()
    ctx.arc(place.x(columns.x[index]!), place.y(means[index]!), 2.3 * devicePixelRatio, 0, 2 * Math.PI)
    ctx.fill()
  }
}

function crosses(plot: uPlot, { scale }: Picture, { columns: { x, odd, low } }: ChartLine, place: Place): void {
  plot.ctx.lineWidth = 1.5 * devicePixelRatio
  const marked = []
  for (let index = place.from; index <= place.to; index++) {
    if (odd[index]! > 0) marked.push({ x: place.x(x[index]!), odd: odd[index]! })
    else if (scale === "log" && low[index]! <= 0) drawCross(plot, place.x(x[index]!))
  }
  if (marked.length > 0) drawOdd(plot, marked, FONT)
}
