import type { Scheme } from "./palette"

/** One hue from little to much: ever darker on a light page, ever lighter on a dark one, so that much stands out on both. */
const STOPS = {
  light: [[200, 225, 234], [148, 200, 214], [88, 165, 186], [29, 117, 144], [10, 72, 95], [4, 34, 48]],
  dark: [[38, 67, 81], [38, 94, 113], [46, 127, 149], [91, 176, 195], [165, 219, 228], [240, 251, 253]],
} as const

/** `share`: 0 to 1. */
export function heatColor(share: number, scheme: Scheme): string {
  const stops = STOPS[scheme]
  const at = Math.min(1, Math.max(0, share)) * (stops.length - 1)
  const low = Math.min(stops.length - 2, Math.floor(at))
  const mixed = stops[low]!.map((part, index) => Math.round(part + (stops[low + 1]![index]! - part) * (at - low)))
  return `rgb(${mixed.join(" ")})`
}

/** From one share of the scale to another. */
export function heatGradient(scheme: Scheme, from: number, to: number): string {
  const colors = STOPS[scheme].map((_, index, { length }) => heatColor(from + ((to - from) * index) / (length - 1), scheme))
  return `linear-gradient(to right, ${colors.join(", ")})`
}
