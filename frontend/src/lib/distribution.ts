import type { Range } from "./axes"
import type { Columns } from "./columns"

/** Values and how often each was measured. */
export interface Weighted {
  values: number[]
  weights: number[]
  /** How many stand at their own value; the others at the mean of their column. */
  exact: number
  count: number
}

/**
 * The finite values in a range as far as columns tell them. A column names its first, lowest, highest and last and knows the sum:
 * up to one value beyond those it is exact.
 */
export function weigh(columns: Columns, range: Range | null): Weighted {
  const found: Weighted = { values: [], weights: [], exact: 0, count: 0 }
  columns.x.forEach((x, index) => {
    const n = columns.count[index]! - columns.odd[index]!
    if (n === 0 || (range && (x < range.from || x > range.to))) return
    const named = namedValues(columns, index, n)
    const others = n - named.length
    found.values.push(...named)
    found.weights.push(...named.map(() => 1))
    if (others > 0) {
      found.values.push((columns.mean[index]! * n - named.reduce((sum, value) => sum + value, 0)) / others)
      found.weights.push(others)
    }
    found.exact += others <= 1 || columns.low[index] === columns.high[index] ? n : named.length
    found.count += n
  })
  return found
}

function namedValues({ first, low, high, last }: Columns, index: number, n: number): number[] {
  if (n === 1) return [first[index]!]
  const named = [first[index]!, last[index]!]
  if (low[index]! < Math.min(...named)) named.push(low[index]!)
  if (high[index]! > Math.max(...named)) named.push(high[index]!)
  return named
}

/** The least value that at least the share `q` of all do not exceed; NaN without any. */
export function quantile(all: readonly Weighted[], q: number): number {
  const pairs = all.flatMap(({ values, weights }) => values.map((value, index) => ({ value, weight: weights[index]! }))).sort((a, b) => a.value - b.value)
  const wanted = q * pairs.reduce((sum, { weight }) => sum + weight, 0)
  let reached = 0
  return pairs.find(({ weight }) => (reached += weight) >= wanted)?.value ?? NaN
}
