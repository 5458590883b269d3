import type { MediaItem, MediaName, StoredHistogram } from "@/client"
import { formatCount } from "@/lib/format"

/** The process that has logged an item: "evaluator", "worker 0". */
export function mediaSource(rank: number): string {
  return rank < 0 ? "evaluator" : `worker ${rank}`
}

/** The same within a sentence: "the evaluator", "worker 0". */
export function mediaSourceInText(rank: number): string {
  return rank < 0 ? "the evaluator" : mediaSource(rank)
}

/** The processes of a name, workers first. */
export function sourcesOf({ ranks }: Pick<MediaName, "ranks">): number[] {
  return [...ranks].sort((a, b) => Number(a < 0) - Number(b < 0) || a - b)
}

/** The place of an item in the training. Steps of the evaluator are versions. */
export function placeOf({ rank, step, samples, version }: Pick<MediaItem, "rank" | "step" | "samples" | "version">): string {
  const at = rank < 0 ? `Version ${formatCount(version)}` : `Step ${formatCount(step)}, version ${formatCount(version)}`
  return `${at}, ${formatCount(samples)} samples`
}

export type Cell = string | number | boolean | null

/** A table as user code has logged it. */
export interface LoggedTable {
  columns: string[]
  rows: Cell[][]
}

/** By one column: numbers before text, empty cells last. Equal rows keep their order. */
export function sortRows(rows: readonly Cell[][], column: number, descending: boolean): Cell[][] {
  const direction = descending ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [one[column] ?? null, other[column] ?? null]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    if (typeof a === "number" && typeof b === "number") return direction * (a - b)
    if (typeof a === "number" || typeof b === "number") return direction * (typeof a === "number" ? -1 : 1)
    return direction * String(a).localeCompare(String(b), "en", { numeric: true })
  })
}

export function cellText(cell: Cell): string {
  return cell === null ? "" : String(cell)
}

/** How text begins that a spreadsheet would compute: there it gets an apostrophe, which a spreadsheet does not show. */
const FORMULA = /^[=+@\t\r-]/

export function csvOf({ columns, rows }: LoggedTable): string {
  const written = (cell: Cell) => {
    const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : cellText(cell)
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return [columns, ...rows].map((row) => `${row.map(written).join(",")}\r\n`).join("")
}

/** Histograms on common bins, the lowest first. Each is a column of shares, which add up to 1. */
export interface Binned {
  low: number
  high: number
  shares: number[][]
  highest: number
}

type Counts = Pick<StoredHistogram, "edges" | "counts">

/** Null: no histogram has a finite value. Counts of a bin are spread evenly over the common bins that it touches. */
export function binned(histograms: readonly Counts[], bins: number): Binned | null {
  const edges = histograms.flatMap((one) => one.edges)
  if (edges.length === 0) return null
  let [low, high] = [edges.reduce((a, b) => Math.min(a, b)), edges.reduce((a, b) => Math.max(a, b))]
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2]
  const shares = histograms.map((one) => sharesOf(one, low, (high - low) / bins, bins))
  return { low, high, shares, highest: Math.max(...shares.flat(), 0) }
}

function sharesOf({ edges, counts }: Counts, low: number, width: number, bins: number): number[] {
  const shares = Array.from({ length: bins }, () => 0)
  const total = counts.reduce((sum, count) => sum + count, 0)
  counts.forEach((count, index) => {
    if (count === 0) return
    const [from, to] = [(edges[index]! - low) / width, (edges[index + 1]! - low) / width]
    const first = Math.min(bins - 1, Math.floor(from))
    if (to <= from) {
      shares[first]! += count / total
      return
    }
    for (let bin = first; bin < Math.min(bins, Math.ceil(to)); bin++) {
      shares[bin]! += ((count / total) * (Math.min(to, bin + 1) - Math.max(from, bin))) / (to - from)
    }
  })
  return shares
}
