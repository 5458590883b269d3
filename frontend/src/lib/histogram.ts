import type { Weighted } from "./distribution"

export interface Histogram {
  /** Lower bounds of the bins, ascending, evenly spaced by `width`. */
  bins: number[]
  width: number
  /** One row of counts per group, same order as the groups given. */
  counts: number[][]
}

/** Counts of whole numbers such as staleness; at most `most` bins, of whole width. */
export function histogram(groups: readonly Pick<Weighted, "values" | "weights">[], most = 24): Histogram {
  const [low, high] = range(groups)
  if (low > high) return { bins: [], width: 1, counts: groups.map(() => []) }
  const width = Math.max(1, Math.ceil((high - low + 1) / most))
  const length = Math.floor((high - low) / width) + 1
  const bins = Array.from({ length }, (_, index) => low + index * width)
  const counts = groups.map(({ values, weights }) => {
    const row = bins.map(() => 0)
    values.forEach((value, index) => (row[Math.floor((Math.floor(value) - low) / width)]! += weights[index]!))
    return row
  })
  return { bins, width, counts }
}

function range(groups: readonly Pick<Weighted, "values">[]): [number, number] {
  let [low, high] = [Infinity, -Infinity]
  for (const { values } of groups) {
    for (const value of values) {
      low = Math.min(low, Math.floor(value))
      high = Math.max(high, Math.floor(value))
    }
  }
  return [low, high]
}
