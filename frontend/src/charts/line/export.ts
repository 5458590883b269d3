import type uPlot from "uplot"
import { drawPicture, FONT, type Picture } from "@/charts/drawing/picture"
import { widest } from "@/charts/drawing/plot"
import { escaped, SvgContext } from "@/charts/drawing/svgContext"
import { seriesColor, seriesDash } from "@/charts/palette"

const HEAD = 30
const ROW = 20
/** Pixels of a legend's column: at least so many; its line, and what lies around the longest name. */
const COLUMN = 150
const SWATCH = 22
const AROUND_NAME = 44
const LEGEND_FONT = FONT.replace("11px", "12px")

/** Least device pixels to a CSS pixel: sharp in a paper and on a slide, whatever screen it was saved on. */
const SHARP = 2

/** The chart as it is seen, with its title and legend, on the card's colour. */
export async function imageOf(plot: uPlot, title: string, picture: Picture): Promise<Blob> {
  const ratio = Math.max(SHARP, devicePixelRatio)
  const { width, height } = sizeOf(plot, picture)
  const canvas = document.createElement("canvas")
  canvas.width = width * ratio
  canvas.height = height * ratio
  const context = canvas.getContext("2d")!
  const [card, text] = colors()
  context.fillStyle = card
  context.fillRect(0, 0, canvas.width, canvas.height)
  enlarged(plot, ratio / devicePixelRatio, (drawn) => context.drawImage(drawn, 0, HEAD * ratio))
  context.scale(ratio, ratio)
  context.fillStyle = text
  context.font = FONT.replace("11px", "600 15px")
  context.fillText(title, 10, 20)
  context.font = LEGEND_FONT
  legend(plot, picture).forEach(({ label, color, dash, x, y }) => {
    context.strokeStyle = color
    context.lineWidth = 2.5
    context.setLineDash(dash)
    context.beginPath()
    context.moveTo(x, y - 4)
    context.lineTo(x + SWATCH, y - 4)
    context.stroke()
    context.fillText(label, x + 28, y)
  })
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("The browser could not draw the picture")))))
}

/** Draws the plot with `zoom` times its pixels and passes it to `take`, then as before. The page shows nothing of it: both happen in one frame. */
function enlarged(plot: uPlot, zoom: number, take: (canvas: HTMLCanvasElement) => void): void {
  const { canvas } = plot.ctx
  const draw = () => plot.batch(() => plot.setSize(plot))
  plot.hooks.drawClear = [
    () => {
      canvas.width *= zoom
      canvas.height *= zoom
      plot.ctx.scale(zoom, zoom)
    },
  ]
  draw()
  take(canvas)
  delete plot.hooks.drawClear
  draw()
}

/** The same in lines instead of pixels. */
export function svgOf(plot: uPlot, title: string, picture: Picture): Blob {
  const { width, height } = sizeOf(plot, picture)
  const [card, text, faint] = colors()
  const drawing = new SvgContext()
  drawPicture(Object.create(plot, { ctx: { value: drawing } }) as uPlot, picture)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="Inter, system-ui, sans-serif" fill="${text}">
<rect width="100%" height="100%" fill="${card}"/><text x="10" y="20" font-size="15" font-weight="600">${escaped(title)}</text>
<g transform="translate(0 ${HEAD})"><g font-size="11" fill="${faint}">${ticks(plot)}${titles(plot)}</g><g transform="scale(${1 / devicePixelRatio})">${drawing.markup}</g></g>
<g font-size="12">${legend(plot, picture).map(({ label, color, dash, x, y }) => `<line x1="${x}" x2="${x + SWATCH}" y1="${y - 4}" y2="${y - 4}" stroke="${color}" stroke-width="2.5" stroke-dasharray="${dash.join(" ")}"/><text x="${x + 28}" y="${y}">${escaped(label)}</text>`).join("")}</g></svg>`
  return new Blob([svg], { type: "image/svg+xml" })
}

function sizeOf(plot: uPlot, { lines }: Picture): { width: number; height: number } {
  const { columns } = columnsOf(plot, lines)
  return { width: plot.width, height: HEAD + plot.height + ROW * Math.ceil(lines.length / columns) + 12 }
}

function columnsOf(plot: uPlot, lines: Picture["lines"]): { columns: number; each: number } {
  const each = Math.max(COLUMN, AROUND_NAME + widest(plot, lines.map(({ label }) => label), LEGEND_FONT))
  return { columns: Math.max(1, Math.floor((plot.width - 20) / each)), each }
}

function legend(plot: uPlot, { lines, scheme }: Picture) {
  const { columns, each } = columnsOf(plot, lines)
  return lines.map(({ label, index }, position) => ({
    label,
    color: seriesColor(index, scheme),
    dash: seriesDash(index),
    x: 14 + (position % columns) * each,
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

function colors(): [card: string, text: string, faint: string] {
  const css = getComputedStyle(document.documentElement)
  return [css.getPropertyValue("--gs-card"), css.getPropertyValue("--mantine-color-text"), css.getPropertyValue("--mantine-color-dimmed")]
}
