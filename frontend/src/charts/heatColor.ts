/** Cividis, which reads the same with and without full colour sight, from low to high. */
const STOPS = [[0, 32, 76], [55, 79, 107], [107, 110, 112], [156, 143, 113], [208, 180, 97], [255, 234, 70]] as const

/** `share`: 0 to 1. */
export function heatColor(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1)
  const low = Math.min(STOPS.length - 2, Math.floor(at))
  const mixed = STOPS[low]!.map((part, index) => Math.round(part + (STOPS[low + 1]![index]! - part) * (at - low)))
  return `rgb(${mixed.join(" ")})`
}

export function heatGradient(): string {
  return `linear-gradient(to right, ${STOPS.map((stop) => `rgb(${stop.join(" ")})`).join(", ")})`
}
