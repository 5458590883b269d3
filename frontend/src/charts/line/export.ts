import type uPlot from "uplot"
import { FONT, placeOf, type Picture } from "@/charts/drawing/picture"
import { traceBand, traceColumns, traceMeans, type Pen } from "@/charts/drawing/trace"
import { seriesColor, seriesDash } from "@/charts/palette"
import { gapOf } from "@/lib/charts/lines"

const HEAD = 30
const ROW = 20
const LEGEND_WIDTH = 150

/** The chart as it is seen, with its title and legend, on the card's colour. */
export async function imageOf(plot: uPlot, title: string, picture: Picture): Promise<Blob> {
  const ratio = devicePixelRatio
  const { width, height } = sizeOf(plot, picture)
  const canvas = document.createElement("canvas")
  canvas.width = width * ratio
  canvas.height = height * ratio
  const context = canvas.getContext("2d")!
  const [card, text] = colors()
  context.fillStyle = card
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(plot.ctx.canvas, 0, HEAD * ratio)
  context.scale(ratio, ratio)
  context.fillStyle = text
  context.font = FONT.replace("11px", "600 15px")
  context.fillText(title, 10, 20)
  context.font = FONT.replace("11px", "12px")
  legend(plot, picture).forEach(({ label, color, dash, x, y }) => {
    context.strokeStyle = color
    context.lineWidth = 2.5
    context.setLineDash(dash)
    context.beginPath()
    context.moveTo(x, y - 4)
    context.lineTo(x + 22, y - 4)
    context.stroke()
    context.fillText(label, x + 28, y)
  })
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The browser could not draw the picture")))))
}

/** The same in lines instead of pixels. */
export function svgOf(plot: uPlot, title: string, picture: Picture): Blob {
  const ratio = devicePixelRatio
  const { width, height } = sizeOf(plot, picture)
  const [card, text] = colors()
  const { left, top, width: across, height: down } = plot.bbox
  const lines = picture.lines.map((line) => {
    const place = placeOf(plot, picture, line, gapOf(picture.view, line.columns))
    const color = seriesColor(line.index, picture.scheme)
    const path = (trace: (pen: Pen) => void, style: string) => `<path d="${pathOf(trace)}" ${style}/>`
    const dash = seriesDash(line.index).map((length) => length * ratio).join(" ")
    if (!line.averaged) return path((pen) => traceColumns(pen, line.columns, place), `stroke="${color}" stroke-width="${1.6 * ratio}" stroke-dasharray="${dash}"`)
    return (
      path((pen) => traceBand(pen, line.columns, place), `fill="${color}" fill-opacity=".14"`) +
      (line.spread ? "" : path((pen) => traceColumns(pen, line.columns, place), `stroke="${color}" stroke-opacity=".35" stroke-width="${ratio}"`)) +
      path((pen) => traceMeans(pen, line.columns, line.means, place), `stroke="${color}" stroke-width="${2 * ratio}" stroke-dasharray="${dash}"`)
    )
  })
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="Inter, system-ui, sans-serif" fill="${text}">
<rect width="100%" height="100%" fill="${card}"/><text x="10" y="20" font-size="15" font-weight="600">${escaped(title)}</text>
<g transform="translate(0 ${HEAD})"><g font-size="11">${ticks(plot)}${titles(plot)}</g>
<svg width="${plot.width}" height="${plot.height}"><clipPath id="plot"><rect x="${left}" y="${top}" width="${across}" height="${down}"/></clipPath>
<g transform="scale(${1 / ratio})" clip-path="url(#plot)" fill="none" stroke-linejoin="round">${lines.join("")}</g></svg></g>
<g font-size="12">${legend(plot, picture).map(({ label, color, dash, x, y }) => `<line x1="${x}" x2="${x + 22}" y1="${y - 4}" y2="${y - 4}" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash.join(" ")}"/><text x="${x + 28}" y="${y}">${escaped(label)}</text>`).join("")}</g></svg>`
  return new Blob([svg], { type: "image/svg+xml" })
}

function sizeOf(plot: uPlot, { lines }: Picture): { width: number; height: number } {
  return { width: plot.width, height: HEAD + plot.height + ROW * Math.ceil(lines.length / columnsOf(plot)) + 12 }
}

function columnsOf({ width }: uPlot): number {
  return Math.max(1, Math.floor((width - 20) / LEGEND_WIDTH))
}

function legend(plot: uPlot, { lines, scheme }: Picture) {
  const columns = columnsOf(plot)
  return lines.map(({ label, index }, position) => ({
    label,
    color: seriesColor(index, scheme),
    dash: seriesDash(index),
    x: 14 + (position % columns) * LEGEND_WIDTH,
    y: HEAD + plot.height + 16 + ROW * Math.floor(position / columns),
  }))
}

/** Axes as uPlot has laid them out: it keeps the places and words of its ticks beside each axis. */
function ticks(plot: uPlot): string {
  const ratio = devicePixelRatio
  const [left, top, width, height] = [plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height].map((length) => length / ratio) as [number, number, number, number]
  const grid = getComputedStyle(document.documentElement).getPropertyValue("--gs-grid")
  return plot.axes
    .map((axis, side) => {
      const { _splits = [], _values = [] } = axis as { _splits?: number[]; _values?: (string | null)[] }
      return _splits
        .map((value, index) => {
          const at = plot.valToPos(value, side === 0 ? "x" : "y") + (side === 0 ? left : top)
          const [line, word] =
            side === 0
              ? [`x1="${at}" x2="${at}" y1="${top}" y2="${top + height}"`, `x="${at}" y="${top + height + 18}" text-anchor="middle"`]
              : [`x1="${left}" x2="${left + width}" y1="${at}" y2="${at}"`, `x="${left - 8}" y="${at + 4}" text-anchor="end"`]
          return `<line ${line} stroke="${grid}"/><text ${word}>${escaped(_values[index] ?? "")}</text>`
        })
        .join("")
    })
    .join("")
}

/** Titles of both axes, where uPlot puts them. */
function titles(plot: uPlot): string {
  const ratio = devicePixelRatio
  const { left, top, width, height } = plot.bbox
  const [across, down] = [(left + width / 2) / ratio, (top + height / 2) / ratio]
  const [x, y] = plot.axes.map(({ label }) => escaped(String(typeof label === "function" ? label(plot, 1, 0, 0) : label)))
  return `<text x="${across}" y="${plot.height - 4}" text-anchor="middle">${x}</text><text transform="translate(12 ${down}) rotate(-90)" text-anchor="middle">${y}</text>`
}

function pathOf(trace: (pen: Pen) => void): string {
  const parts: string[] = []
  const at = (x: number, y: number) => `${x.toFixed(1)} ${y.toFixed(1)}`
  trace({ moveTo: (x, y) => parts.push(`M${at(x, y)}`), lineTo: (x, y) => parts.push(`L${at(x, y)}`) })
  return parts.join("")
}

function colors(): [card: string, text: string] {
  const css = getComputedStyle(document.documentElement)
  return [css.getPropertyValue("--gs-card"), css.getPropertyValue("--mantine-color-text")]
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")
}
