import type uPlot from "uplot"
import type { Threshold } from "@/lib/lines"

const SIZE = 3.5

/** A cross at the lower edge: something was measured here that is not finite, or not above 0 on a logarithmic scale. */
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
