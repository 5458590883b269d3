import type { DataLine } from "@/lib/charts/chartData"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { heatOf, type Heat } from "./heat"
import { reach } from "@/lib/charts/lines"

/** Slices of the visible range, and how many on either side the running mean takes in. */
const SLICES = 120
const AROUND = 2
/** Bins of about as many values each, which a mean needs so many of. */
const BINS = 12
const LEAST = 8
/** Deviations from the mean within which 95 % of a normal distribution lie. */
const Z95 = 1.96

interface Pair {
  staleness: number
  excess: number
}

/**
 * Loss that is above the mean of all workers at its time, over the staleness of that time: training progress, which moves the loss of all
 * workers alike, is taken out. A line through the means of bins, with their 95 % confidence interval as its band.
 */
export function excessByStaleness(staleness: readonly DataLine[], loss: readonly DataLine[]): DataLine[] {
  const pairs = pairsOf(staleness, loss).sort((a, b) => a.staleness - b.staleness)
  const bins = binsOf(pairs)
  if (bins.length < 2) return []
  const columns = emptyColumns()
  for (const bin of bins) {
    const mean = meanOf(bin.map(({ excess }) => excess))
    const deviation = Math.sqrt(bin.reduce((sum, { excess }) => sum + (excess - mean) ** 2, 0) / (bin.length - 1))
    const half = (Z95 * deviation) / Math.sqrt(bin.length)
    insert(columns, { x: meanOf(bin.map((pair) => pair.staleness)), first: mean, last: mean, mean, low: mean - half, high: mean + half, count: bin.length, odd: 0 })
  }
  const label = "all workers"
  return [{ source: label, rank: -1, label, index: -1, columns, total: pairs.length, latest: null, spread: true }]
}

/** A pair for each worker and slice of the axis in which both were measured. */
function pairsOf(staleness: readonly DataLine[], loss: readonly DataLine[]): Pair[] {
  const ends = reach([...staleness, ...loss])
  if (!ends || ends[0] === ends[1]) return []
  const range = { from: ends[0], to: ends[1] }
  const [stale, lost] = [heatOf(staleness, range, SLICES, "mean"), heatOf(loss, range, SLICES, "mean")]
  if (lost.ranks.length < 2) return []
  const running = runningMeans(lost)
  return lost.ranks.flatMap((rank, row) => {
    const values = stale.values[stale.ranks.indexOf(rank)]
    return lost.values[row]!.flatMap((value, slice) => {
      const at = values?.[slice] ?? null
      return value === null || at === null ? [] : [{ staleness: at, excess: value - running[slice]! }]
    })
  })
}

/** Mean of all workers in each slice and its neighbours: of their means there, so that a slow worker counts as much as a fast one. */
function runningMeans({ values, slices }: Heat): number[] {
  return Array.from({ length: slices }, (_, slice) => {
    const near = values.flatMap((cells) => cells.slice(Math.max(0, slice - AROUND), slice + AROUND + 1).filter((value) => value !== null))
    return meanOf(near)
  })
}

/** Neighbours in bins of one size; equal values stay together. */
function binsOf(sorted: readonly Pair[]): Pair[][] {
  const size = Math.max(LEAST, Math.ceil(sorted.length / BINS))
  const bins: Pair[][] = []
  for (const pair of sorted) {
    const bin = bins.at(-1)
    if (!bin || (bin.length >= size && bin.at(-1)!.staleness < pair.staleness)) bins.push([pair])
    else bin.push(pair)
  }
  const last = bins.at(-1)
  if (last && bins.length > 1 && last.length < LEAST) bins.splice(-2, 2, [...bins.at(-2)!, ...last])
  return bins
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
