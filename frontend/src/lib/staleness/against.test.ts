import { describe, expect, it } from "vitest"
import type { DataLine } from "@/lib/charts/chartData"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { excessByStaleness } from "./against"

const STEPS = 240
const line = (rank: number, valueAt: (step: number) => number): DataLine => {
  const columns = emptyColumns()
  for (let x = 0; x < STEPS; x++) {
    const value = valueAt(x)
    insert(columns, { x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: 0 })
  }
  return { source: `worker-${rank}`, rank, columns, total: STEPS, latest: null }
}
/** A loss that falls from 2 to nearly 0. */
const falling = (step: number) => 2 * Math.exp(-step / 60)
const noise = (rank: number, step: number) => Math.sin(12.9898 * (step + 97 * rank)) * 0.02

describe("loss above the running mean by staleness", () => {
  it("is flat where staleness only grew while the loss fell: that is training progress", () => {
    const staleness = [0, 1, 2, 3].map((rank) => line(rank, (step) => step / 20))
    const loss = [0, 1, 2, 3].map((rank) => line(rank, (step) => falling(step) + noise(rank, step)))
    const [all] = excessByStaleness(staleness, loss)
    for (const mean of all!.columns.mean) expect(Math.abs(mean)).toBeLessThan(0.02)
  })

  it("rises where stale workers have a higher loss, and says how sure that is", () => {
    const staleness = [0, 1, 2, 3].map((rank) => line(rank, (step) => (rank === 3 ? 20 : 2) + (step % 3)))
    const loss = [0, 1, 2, 3].map((rank) => line(rank, (step) => falling(step) + noise(rank, step) + (rank === 3 ? 0.4 : 0)))
    const [all] = excessByStaleness(staleness, loss)
    const { x, mean, low, high, count } = all!.columns
    expect(x[0]).toBeLessThan(5)
    expect(x.at(-1)).toBeGreaterThan(19)
    expect(mean[0]).toBeCloseTo(-0.1, 1)
    expect(mean.at(-1)).toBeCloseTo(0.3, 1)
    expect(low.at(-1)).toBeGreaterThan(high[0]!)
    expect(count.reduce((sum, n) => sum + n)).toBe(all!.total)
  })

  it("is nothing for one worker, and where all were equally stale", () => {
    expect(excessByStaleness([line(0, () => 0)], [line(0, falling)])).toEqual([])
    expect(excessByStaleness([line(0, () => 3), line(1, () => 3)], [line(0, falling), line(1, falling)])).toEqual([])
  })
})
