export interface Histogram {
  /** Lower bounds of the bins, ascending, evenly spaced by `width`. */
  bins: number[]
  width: number
  /** One row of counts per group, same order as the groups given. */
  counts: number[][]
}

/** Counts of whole numbers such as staleness; at most `most` bins, of whole width. Values that are not finite are left out. */
export function histogram(groups: readonly (readonly number[])[], most = 24): Histogram {
  const all = groups.flat().filter(Number.isFinite)
  if (all.length === 0) return { bins: [], width: 1, counts: groups.map(() => []) }
  const [low, high] = range(all)
  const width = Math.max(1, Math.ceil((high - low + 1) / most))
  const length = Math.floor((high - low) / width) + 1
  const bins = Array.from({ length }, (_, index) => low + index * width)
  const counts = groups.map((values) => {
    const row = bins.map(() => 0)
    for (const value of values) if (Number.isFinite(value)) row[Math.floor((Math.floor(value) - low) / width)]!++
    return row
  })
  return { bins, width, counts }
}

function range(values: readonly number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity]
  for (const value of values) {
    low = Math.min(low, Math.floor(value))
    high = Math.max(high, Math.floor(value))
  }
  return [low, high]
}
