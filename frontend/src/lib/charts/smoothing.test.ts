import { expect, it } from "vitest"
import { emptyColumns, insert, type Columns } from "./columns"
import { smooth } from "./smoothing"

const make = (...given: [mean: number, count: number][]): Columns => {
  const columns = emptyColumns()
  given.forEach(([mean, count], x) => {
    insert(columns, { x, first: mean, low: mean, high: mean, last: mean, mean, count, odd: Number.isFinite(mean) ? 0 : count })
  })
  return columns
}

it("leaves the means as they are with weight 0", () => {
  expect(smooth(make([3, 1], [1, 1], [2, 1]), 0)).toEqual([3, 1, 2])
})

it("is not pulled towards zero at the beginning", () => {
  const smoothed = smooth(make([5, 1], [5, 1], [5, 1]), 0.9)
  for (const value of smoothed) expect(value).toBeCloseTo(5)
})

it("counts a column of n points as n points", () => {
  const apart = smooth(make([4, 1], [1, 1], [1, 1], [1, 1], [7, 1]), 0.8)
  const together = smooth(make([4, 1], [1, 3], [7, 1]), 0.8)
  expect(together.at(-1)).toBeCloseTo(apart.at(-1)!)
})

it("keeps what is not finite out of the average", () => {
  const smoothed = smooth(make([2, 1], [NaN, 1], [2, 1]), 0.5)
  expect(smoothed[1]).toBeNaN()
  expect(smoothed[2]).toBeCloseTo(2)
})
