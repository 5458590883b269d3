import { describe, expect, it } from "vitest"
import { emptyColumns, insert, points, type Columns } from "@/lib/charts/columns"
import { bandOf, commonGrid, latestOf, onGrid, summaryOf, together } from "./curves"

function columns(...values: [x: number, value: number, count: number][]): Columns {
  const made = emptyColumns()
  for (const [x, value, count] of values) insert(made, { x, first: value, low: value, high: value, last: value, mean: value, count, odd: 0 })
  return made
}

describe("together", () => {
  it("joins what workers measured in the same slice, by their points, and loses none", () => {
    const joined = together([columns([0, 1, 3], [100, 4, 1]), columns([1, 5, 1], [99, 2, 1])], 2)
    expect(joined).toMatchObject({ x: [0, 99], mean: [2, 3], low: [1, 2], high: [5, 4], count: [4, 2] })
    expect(points(joined)).toBe(6)
  })

  it("leaves a job with one line as it is", () => {
    const one = columns([0, 1, 1], [1, 2, 1], [2, 3, 1])
    expect(together([one], 2)).toBe(one)
  })
})

describe("a common grid", () => {
  it("spans all curves, whatever their lengths", () => {
    expect(commonGrid([{ x: [0, 10], y: [1, 1] }, { x: [5, 20], y: [1, 1] }, { x: [], y: [] }], 5)).toEqual([0, 5, 10, 15, 20])
    expect(commonGrid([{ x: [3], y: [1] }], 5)).toEqual([3])
    expect(commonGrid([{ x: [], y: [] }], 5)).toEqual([])
    expect(commonGrid([], 5)).toEqual([])
  })

  it("takes values from the straight line between neighbours, and none from outside", () => {
    expect(onGrid({ x: [1, 3], y: [10, 30] }, [0, 1, 2, 3, 4])).toEqual([NaN, 10, 20, 30, NaN])
    expect(onGrid({ x: [1, 2, 3], y: [10, NaN, 30] }, [2])).toEqual([20])
    expect(onGrid({ x: [2, 2, 2], y: [1, 5, 9] }, [2])).toEqual([1])
  })
})

describe("mean and spread", () => {
  const curves = [{ x: [0, 2], y: [1, 3] }, { x: [0, 2, 4], y: [3, 5, 9] }, { x: [1, 2], y: [5, 7] }]

  it("has the lowest and the highest of those that reach there", () => {
    expect(bandOf(curves, [0, 1, 2, 3, 4, 5], "range")).toEqual({
      x: [0, 1, 2, 3, 4], mean: [2, 11 / 3, 5, 7, 9], low: [1, 2, 3, 7, 9], high: [3, 5, 7, 7, 9], count: [2, 3, 3, 1, 1],
    })
  })

  it("has the deviation of a sample, and none of a single curve", () => {
    const { low, mean, high } = bandOf(curves, [0, 2, 4], "deviation")
    const wide = [Math.SQRT2, 2, 0]
    wide.forEach((deviation, place) => {
      expect(mean[place]! - low[place]!).toBeCloseTo(deviation, 12)
      expect(high[place]! - mean[place]!).toBeCloseTo(deviation, 12)
    })
  })
})

it("has the last point for the latest value, of each worker's newest attempt, and not the mean of a column", () => {
  const series = (rank: number, attempt: number, last: (number | null)[]) => {
    const one = last.map(() => 1)
    return { attempt, source: `worker-${rank}`, rank, total: 9, columns: { x: one, first: one, low: one, high: one, last, mean: last.map(() => 0.5), count: one, odd: one } }
  }
  expect(latestOf([series(0, 1, [0.9, 0.994])])).toBe(0.994)
  expect(latestOf([series(0, 2, [4, null]), series(0, 1, [9]), series(1, 1, [6])])).toBe(5)
  expect(latestOf([series(0, 1, [null])])).toBeNull()
})

it("has the lowest and the highest of all workers and attempts, and of nothing none", () => {
  const series = (low: (number | null)[], high: (number | null)[], last: number) => {
    const one = low.map(() => 1)
    return { attempt: 1, source: "worker-0", rank: 0, total: 9, columns: { x: one, first: one, low, high, last: [last], mean: one, count: one, odd: one } }
  }
  expect(summaryOf([series([0.5, null], [2, null], 1), series([0.7], [9], 3)])).toEqual({ last: 3, low: 0.5, high: 9 })
  expect(summaryOf([])).toEqual({ last: null, low: null, high: null })
})
