import type uPlot from "uplot"
import { shown, type AxisView, type Range } from "@/lib/axes"
import { after } from "@/lib/columns"
import { gapOf, reach, span, type ChartLine, type Scale, type Threshold } from "@/lib/lines"
import { drawCross, drawThreshold } from "./marks"
import { seriesColor, seriesDash, type Scheme } from "./palette"
import { lonely, traceBand, traceColumns, traceMeans, type Place } from "./trace"

/** All that a picture shows. */
export interface Picture {
  lines: readonly ChartLine[]
  view: AxisView
  /** What is visible, in the units of the server; null: all. */
  range: Range | null
  scale: Scale
  threshold: Threshold | null
  scheme: Scheme
  /** Columns are points on their own, with nothing between them. */
  scattered: boolean
}

export const FONT = "11px 'Inter Variable', system-ui, sans-serif"
const FAINT = 0.45
const BAND = 0.14
/** Device pixels: lines up to this are two thin ones. */
const DOUBLE = 2

/** The ends of both axes, as they are shown. */
export interface Window {
  x: [number, number]
  y: [number, number]
}

export function windowOf({ lines, view, range, scale, threshold }: Picture): Window {
  const [from, to] = range ? [range.from, range.to] : (reach(lines) ?? [view.offset, view.offset + view.unit])
  const wide = from === to ? [from - view.unit / 2, to + view.unit / 2] : [from, to]
  const y = span(lines, from, to, scale, threshold)
  return { x: [shown(wide[0]!, view), shown(wide[1]!, view)], y: y ?? (scale === "log" ? [0.1, 1] : [0, 1]) }
}

export function placeOf(plot: uPlot, picture: Picture, line: ChartLine): Place {
  const { view, scale } = picture
  const { x } = line.columns
  const { min, max } = plot.scales.x as { min: number; max: number }
  const bottom = plot.bbox.top + plot.bbox.height + 1
  const [left, right] = [min, max].map((value) => plot.valToPos(value, "x", true)) as [number, number]
  const perUnit = (right - left) / (max - min)
  return {
    x: (value) => left + (shown(value, view) - min) * perUnit,
    y: scale === "linear" ? straight(plot) : (value) => (scale === "log" && value <= 0 ? bottom : plot.valToPos(value, "y", true)),
    from: Math.max(0, after(x, min * view.unit + view.offset) - 1),
    to: Math.min(x.length - 1, after(x, max * view.unit + view.offset)),
    gap: gapOf(view, line.columns),
  }
}

/** What uPlot says of values on a linear scale, without asking it for each. */
function straight(plot: uPlot): (value: number) => number {
  const { min, max } = plot.scales.y as { min: number; max: number }
  const [low, high] = [plot.valToPos(min, "y", true), plot.valToPos(max, "y", true)]
  const perUnit = (high - low) / (max - min)
  return (value) => low + (value - min) * perUnit
}

/** Draws the lines into the plot whose axes uPlot has drawn. */
export function drawPicture(plot: uPlot, picture: Picture): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  ctx.lineJoin = "round"
  for (const line of picture.lines) drawOne(plot, picture, line)
  ctx.restore()
  if (picture.threshold) drawThreshold(plot, picture.threshold, FONT)
}

function drawOne(plot: uPlot, picture: Picture, line: ChartLine): void {
  const { ctx } = plot
  const place = placeOf(plot, picture, line)
  ctx.strokeStyle = ctx.fillStyle = seriesColor(line.index, picture.scheme)
  if (picture.scattered) dots(plot, line, place, range(place))
  else {
    drawLine(plot, line, place)
    dots(plot, line, place, place.to - place.from < 40 ? range(place) : lonely(line.columns, place))
    crosses(plot, picture, line, place)
  }
}

function drawLine({ ctx }: uPlot, line: ChartLine, place: Place): void {
  if (line.averaged) {
    fill(ctx, BAND, (pen) => traceBand(pen, line.columns, place))
    if (!line.spread) stroke(ctx, 1, FAINT, [], (pen) => traceColumns(pen, line.columns, place))
    stroke(ctx, 2, 1, seriesDash(line.index), (pen) => traceMeans(pen, line.columns, line.means, place))
  } else stroke(ctx, 1.6, 1, seriesDash(line.index), (pen) => traceColumns(pen, line.columns, place))
}

/** Without a GPU a line wider than a pixel takes many times as long as one of a pixel: so it is made of two of these, side by side. */
function stroke(ctx: CanvasRenderingContext2D, width: number, alpha: number, dash: number[], trace: (pen: Path2D) => void): void {
  const path = new Path2D()
  trace(path)
  const wide = width * devicePixelRatio
  const apart = alpha === 1 && wide > 1 && wide <= DOUBLE ? (wide - 1) * 0.4 : 0
  ctx.lineWidth = apart > 0 ? 1 : wide
  ctx.globalAlpha = alpha
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio))
  for (const aside of apart > 0 ? [-apart, apart] : [0]) {
    ctx.translate(aside, aside)
    ctx.stroke(path)
    ctx.translate(-aside, -aside)
  }
  ctx.setLineDash([])
  ctx.globalAlpha = 1
}

function fill(ctx: CanvasRenderingContext2D, alpha: number, trace: (pen: Path2D) => void): void {
  const path = new Path2D()
  trace(path)
  ctx.globalAlpha = alpha
  ctx.fill(path)
  ctx.globalAlpha = 1
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
  for (let index = place.from; index <= place.to; index++) {
    if (odd[index]! > 0 || (scale === "log" && low[index]! <= 0)) drawCross(plot, place.x(x[index]!))
  }
}
