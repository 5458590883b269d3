import uPlot from "uplot"
import { shown } from "@/lib/charts/axes"
import { reach, span, type Scale } from "@/lib/charts/lines"
import type { Picture } from "./picture"

/** The ends of both axes, as they are shown. */
export interface Window {
  x: [number, number]
  y: [number, number]
}

/** Margin for points to come, as a share of the width: some pixels. */
const MARGIN = 1 / 32

/**
 * The part of the data that is to be seen. `before`: the ends of a picture to which points come fast. They stay while the points fit, and then leave a margin,
 * so that most points find the rest of the picture in its place.
 */
export function windowOf({ lines, view, range, scale, threshold }: Picture, before: Window | null = null): Window {
  const [from, to] = range ? [range.from, range.to] : (reach(lines) ?? [view.offset, view.offset + view.unit])
  const wide = from === to ? [from - view.unit / 2, to + view.unit / 2] : [from, to]
  const ends: [number, number] = [shown(wide[0]!, view), shown(wide[1]!, view)]
  const x = before && !range ? withMargin(ends, before.x) : ends
  const y = span(lines, from, to, scale, threshold) ?? (scale === "log" ? [0.1, 1] : [0, 1])
  return before && same(x, before.x) && fits(y, before.y, scale) ? before : { x, y }
}

/** The greatest absolute value in sight. */
export function largestOf({ y: [low, high] }: Window): number {
  return Math.max(Math.abs(low), Math.abs(high))
}

function withMargin([from, to]: [number, number], before: [number, number]): [number, number] {
  if (from !== before[0]) return [from, to]
  const margin = MARGIN * (to - from)
  if (to > before[1]) return [from, to + margin]
  return before[1] - to <= margin ? before : [from, to]
}

/** Values that reach no further than the air around those before. */
function fits([low, high]: [number, number], before: [number, number], scale: Scale): boolean {
  const [bottom, top] = airy(before, scale) as [number, number]
  return low <= before[0] && high >= before[1] && low >= bottom && high <= top
}

function same(a: [number, number], b: [number, number]): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

/** Some air above and below; a constant gets a range of its own size. */
export function airy([low, high]: [number, number], scale: Scale): uPlot.Range.MinMax {
  if (scale === "log") return uPlot.rangeLog(low, high, 10, false)
  if (low === high) return low === 0 ? [0, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2]
  if (scale === "symlog") return uPlot.rangeAsinh(low, high, 10, false)
  const air = (high - low) * 0.06
  return [low >= 0 ? Math.max(0, low - air) : low - air, high + air]
}
