/**
 * At most about `most` points, for drawing: of each bucket of neighbours the first, the lowest, the highest, the last
 * and one that is not finite stay, in their order, so no spike and no NaN disappears.
 */
export function thin<P extends { value: number }>(points: readonly P[], most: number): readonly P[] {
  if (points.length <= most) return points
  const size = Math.ceil(points.length / Math.max(1, Math.floor(most / 4)))
  const kept: P[] = []
  for (let start = 0; start < points.length; start += size) {
    const end = Math.min(start + size, points.length)
    kept.push(...telling(points, start, end).map((index) => points[index]!))
  }
  return kept
}

function telling(points: readonly { value: number }[], start: number, end: number): number[] {
  let low = start
  let high = start
  let odd = -1
  for (let index = start; index < end; index++) {
    const value = points[index]!.value
    if (!Number.isFinite(value)) odd = index
    if (!(points[low]!.value <= value)) low = Number.isFinite(value) ? index : low
    if (!(points[high]!.value >= value)) high = Number.isFinite(value) ? index : high
  }
  const indices = new Set([start, low, high, end - 1, ...(odd >= 0 ? [odd] : [])])
  return [...indices].sort((a, b) => a - b)
}
