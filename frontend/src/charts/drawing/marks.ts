import type uPlot from "uplot"
import type { Threshold } from "@/lib/charts/lines"
import type { Mark, MarkKind } from "@/lib/charts/marks"

const SIZE = 3.5
/** CSS pixels: words closer than this would lie over each other. */
const APART = 84
/** CSS pixels from the lower edge: above the crosses. */
const ABOVE_CROSSES = 15

/** Points that are not finite: a line over the whole height where they are, a cross at its foot, and their number where there are several. */
export function drawOdd(plot: uPlot, found: readonly { x: number; odd: number }[], font: string): void {
  const { ctx, bbox } = plot
  const ratio = devicePixelRatio
  let told = -Infinity
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--gs-bad")
  ctx.font = font.replace("11px", `${11 * ratio}px`)
  for (const { x, odd } of found) {
    ctx.lineWidth = ratio
    ctx.globalAlpha = 0.35
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.globalAlpha = 1
    ctx.lineWidth = 2 * ratio
    drawCross(plot, x)
    if (odd < 2 || x - told < APART * ratio) continue
    told = x
    const leftwards = x > bbox.left + bbox.width / 2
    ctx.textAlign = leftwards ? "right" : "left"
    ctx.fillText(`${odd} not finite`, x + (leftwards ? -7 : 7) * ratio, bbox.top + bbox.height - ABOVE_CROSSES * ratio)
  }
  ctx.restore()
}

/** A cross at the lower edge: something was measured here that is not above 0 on a logarithmic scale, or not finite. */
export function drawCross({ ctx, bbox }: uPlot, x: number): void {
  const size = SIZE * devicePixelRatio
  const y = bbox.top + bbox.height - 2.3 * size
  ctx.beginPath()
  ctx.moveTo(x - size, y - size)
  ctx.lineTo(x + size, y + size)
  ctx.moveTo(x + size, y - size)
  ctx.lineTo(x - size, y + size)
  ctx.stroke()
}

/** Variables of the page's colours, and CSS pixels of dashes. */
const LOOKS: Record<MarkKind, { color: string; dash: number[] }> = {
  checkpoint: { color: "--mantine-color-dimmed", dash: [1, 3] },
  failure: { color: "--gs-bad", dash: [] },
  restart: { color: "--gs-wait", dash: [5, 3] },
}

/** Lines from top to bottom where something happened to the job; `place` gives device pixels from the left, `box` those of the drawing. */
export function drawMarks(ctx: CanvasRenderingContext2D, marks: readonly Mark[], place: (x: number) => number, box: { left: number; top: number; width: number; height: number }): void {
  const css = getComputedStyle(document.documentElement)
  const ratio = devicePixelRatio
  ctx.save()
  ctx.lineWidth = 1.5 * ratio
  for (const { x, kind } of marks) {
    const at = place(x)
    if (!(at >= box.left && at <= box.left + box.width)) continue
    ctx.strokeStyle = css.getPropertyValue(LOOKS[kind].color)
    ctx.setLineDash(LOOKS[kind].dash.map((length) => length * ratio))
    ctx.beginPath()
    ctx.moveTo(at, box.top)
    ctx.lineTo(at, box.top + box.height)
    ctx.stroke()
  }
  ctx.restore()
}

export function drawThreshold(plot: uPlot, { value, label }: Threshold, font: string): void {
  const { ctx, bbox } = plot
  const y = plot.valToPos(value, "y", true)
  if (!(y >= bbox.top && y <= bbox.top + bbox.height)) return
  const ratio = devicePixelRatio
  const color = getComputedStyle(document.documentElement).getPropertyValue("--gs-good")
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = color
  ctx.lineWidth = ratio
  ctx.setLineDash([3 * ratio, 4 * ratio])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.font = font.replace("11px", `${11 * ratio}px`)
  ctx.textAlign = "left"
  ctx.fillText(label, bbox.left + 6 * ratio, y - 5 * ratio)
  ctx.restore()
}
