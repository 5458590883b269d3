import type { Pen } from "./trace"

/** Styles that `save` keeps, under the names that a canvas has for them. */
interface Styles {
  strokeStyle: string
  fillStyle: string
  lineWidth: number
  lineJoin: string
  lineDashOffset: number
  globalAlpha: number
  font: string
  textAlign: string
}

const PLAIN: Styles = { strokeStyle: "#000", fillStyle: "#000", lineWidth: 1, lineJoin: "miter", lineDashOffset: 0, globalAlpha: 1, font: "10px sans-serif", textAlign: "start" }
const ANCHORS: Readonly<Record<string, string>> = { right: "end", end: "end", center: "middle" }

/** A path as SVG writes it. */
class SvgPath implements Pen {
  private readonly parts: string[] = []

  moveTo(x: number, y: number): void {
    this.parts.push(`M${at(x, y)}`)
  }

  lineTo(x: number, y: number): void {
    this.parts.push(`L${at(x, y)}`)
  }

  /** The whole circle: drawings have no other arcs. */
  arc(x: number, y: number, radius: number): void {
    const half = `a${at(radius, radius)} 0 1 0`
    this.parts.push(`M${at(x - radius, y)}${half} ${at(2 * radius, 0)}${half} ${at(-2 * radius, 0)}`)
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`M${at(x, y)}h${width}v${height}h${-width}Z`)
  }

  get commands(): string {
    return this.parts.join("")
  }
}

/** Stands for the context of a canvas and writes SVG: a drawing that is made for the screen goes into a file in lines instead of pixels. Knows what drawings of charts use. */
export class SvgContext implements Styles {
  strokeStyle = PLAIN.strokeStyle
  fillStyle = PLAIN.fillStyle
  lineWidth = PLAIN.lineWidth
  lineJoin = PLAIN.lineJoin
  lineDashOffset = PLAIN.lineDashOffset
  globalAlpha = PLAIN.globalAlpha
  font = PLAIN.font
  textAlign = PLAIN.textAlign
  private dash: readonly number[] = []
  private path = new SvgPath()
  private clips = 0
  private readonly saved: { styles: Styles; dash: readonly number[]; depth: number }[] = []
  /** Groups that are open. */
  private depth = 0
  private readonly parts: string[] = []

  /** All that has been drawn. */
  get markup(): string {
    return this.parts.join("")
  }

  save(): void {
    const { strokeStyle, fillStyle, lineWidth, lineJoin, lineDashOffset, globalAlpha, font, textAlign, dash, depth } = this
    this.saved.push({ styles: { strokeStyle, fillStyle, lineWidth, lineJoin, lineDashOffset, globalAlpha, font, textAlign }, dash, depth })
  }

  restore(): void {
    const before = this.saved.pop()
    if (!before) return
    this.parts.push("</g>".repeat(this.depth - before.depth))
    Object.assign(this, before.styles, { dash: before.dash, depth: before.depth })
  }

  beginPath(): void {
    this.path = new SvgPath()
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y)
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y)
  }

  arc(x: number, y: number, radius: number): void {
    this.path.arc(x, y, radius)
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.rect(x, y, width, height)
  }

  setLineDash(dash: readonly number[]): void {
    this.dash = dash
  }

  clip(): void {
    const id = `clip-${++this.clips}`
    this.depth++
    this.parts.push(`<clipPath id="${id}"><path d="${this.path.commands}"/></clipPath><g clip-path="url(#${id})">`)
  }

  stroke(path = this.path): void {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(" ")}"` : ""
    this.parts.push(`<path d="${path.commands}" fill="none" ${this.paint("stroke")} stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}"${dash}/>`)
  }

  fill(path = this.path): void {
    this.parts.push(`<path d="${path.commands}" ${this.paint("fill")}/>`)
  }

  fillText(text: string, x: number, y: number): void {
    const [size] = /[\d.]+(?=px)/.exec(this.font) ?? ["10"]
    this.parts.push(`<text x="${x}" y="${y}" font-size="${size}" text-anchor="${ANCHORS[this.textAlign] ?? "start"}" ${this.paint("fill")}>${escaped(text)}</text>`)
  }

  /** Colours without their opacity, which stands beside them: few programs read #rrggbbaa. */
  private paint(kind: "stroke" | "fill"): string {
    const style = this[`${kind}Style`].trim()
    const [, color, alpha] = /^(#[0-9a-f]{6})([0-9a-f]{2})$/i.exec(style) ?? ["", style, "ff"]
    const opacity = this.globalAlpha * (parseInt(alpha, 16) / 255)
    return `${kind}="${escaped(color)}"${opacity < 1 ? ` ${kind}-opacity="${Number(opacity.toFixed(3))}"` : ""}`
  }
}

export function isSvg(context: unknown): context is SvgContext {
  return context instanceof SvgContext
}

/** A path that the context can stroke and fill. */
export function newPath(context: CanvasRenderingContext2D): Path2D {
  return isSvg(context) ? (new SvgPath() as unknown as Path2D) : new Path2D()
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")
}

function at(x: number, y: number): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`
}
