import type uPlot from "uplot"
import type { Threshold } from "@/lib/lines"

const SIZE = 3.5

/** A cross at the lower edge for each value that was measured but is not finite. */
export function drawMissing(plot: uPlot): void {
  const { ctx, bbox } = plot
  const ratio = devicePixelRatio
  ctx.save()
  ctx.lineWidth = 1.5 * ratio
  plot.series.forEach((series, index) => {
    if (index === 0 || !series.show) return
    ctx.strokeStyle = typeof series.stroke === "function" ? (series.stroke(plot, index)) : "currentColor"
    plot.data[index]!.forEach((value, row) => {
      if (value !== null) return
      const x = plot.valToPos(plot.data[0][row]!, "x", true)
      if (x >= bbox.left && x <= bbox.left + bbox.width) cross(ctx, x, bbox.top + bbox.height - 8 * ratio, SIZE * ratio)
    })
  })
  ctx.restore()
}

function cross(ctx: CanvasRenderingContext2D, x: number, y: number, size: number): void {
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
