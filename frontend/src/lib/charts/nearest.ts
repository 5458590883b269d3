import type { Range } from "./axes"

/** Place outside of the range that is nearest to its ends; null without any. */
export function nearestOutside(places: readonly number[], { from, to }: Range): number | null {
  const away = (x: number) => Math.max(from - x, x - to)
  return places.reduce<number | null>((best, x) => (best === null || away(x) < away(best) ? x : best), null)
}

/** A range as wide as this one with the place in its middle. */
export function around(place: number, { from, to }: Range): Range {
  const half = (to - from) / 2
  return { from: place - half, to: place + half }
}
