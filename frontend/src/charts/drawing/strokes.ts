import { isSvg, newPath } from "./svgContext"
import type { Pen } from "./trace"

/** Device pixels: lines up to this are two thin ones. */
const DOUBLE = 2

interface Style {
  /** CSS pixels. */
  width: number
  alpha?: number
  /** CSS pixels, as canvas takes them; none: one line throughout. */
  dash?: readonly number[]
  /** Device pixels of the line that have been drawn before this: its dashes go on there. */
  inked?: number
}

/** Without a GPU a line wider than a pixel takes many times as long as one of a pixel: so it is made of two of these, side by side. Returns device pixels since its dashes began. */
export function stroke(ctx: CanvasRenderingContext2D, { width, alpha = 1, dash = [], inked = 0 }: Style, trace: (pen: Pen) => void): number {
  const path = newPath(ctx)
  const pen = dash.length > 0 ? new Measured(path, inked) : path
  trace(pen)
  const wide = width * devicePixelRatio
  const apart = !isSvg(ctx) && alpha === 1 && wide > 1 && wide <= DOUBLE ? (wide - 1) * 0.4 : 0
  ctx.lineWidth = apart > 0 ? 1 : wide
  ctx.globalAlpha = alpha
  ctx.setLineDash(dash.map((length) => length * devicePixelRatio))
  ctx.lineDashOffset = inked
  if (apart === 0) ctx.stroke(path)
  else
    for (const aside of [-apart, apart]) {
      ctx.translate(aside, aside)
      ctx.stroke(path)
      ctx.translate(-aside, -aside)
    }
  ctx.setLineDash([])
  ctx.lineDashOffset = 0
  ctx.globalAlpha = 1
  return pen instanceof Measured ? pen.length : 0
}

export function fill(ctx: CanvasRenderingContext2D, alpha: number, trace: (pen: Pen) => void): void {
  const path = newPath(ctx)
  trace(path)
  ctx.globalAlpha = alpha
  ctx.fill(path)
  ctx.globalAlpha = 1
}

/** Knows how long the last of its lines is: each begins its dashes anew. */
class Measured implements Pen {
  private x = 0
  private y = 0
  private begun = false

  constructor(
    private readonly pen: Pen,
    public length: number,
  ) {}

  moveTo(x: number, y: number): void {
    if (this.begun) this.length = 0
    this.begun = true
    this.pen.moveTo(x, y)
    this.x = x
    this.y = y
  }

  lineTo(x: number, y: number): void {
    this.length += Math.hypot(x - this.x, y - this.y)
    this.pen.lineTo(x, y)
    this.x = x
    this.y = y
  }
}
