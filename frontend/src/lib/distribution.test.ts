import { describe, expect, it } from "vitest"
import { emptyColumns, insert, join, type Column, type Columns } from "./columns"
import { quantile, weigh } from "./distribution"

const one = (x: number, value: number): Column => ({ x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: Number.isFinite(value) ? 0 : 1 })
const make = (...columns: number[][]): Columns => {
  const all = emptyColumns()
  columns.forEach((values, x) => insert(all, values.map((value) => one(x, value)).reduce(join)))
  return all
}
const sorted = ({ values, weights }: { values: number[]; weights: number[] }) =>
  values.flatMap((value, index) => Array.from({ length: weights[index]! }, () => Math.round(value * 1e9) / 1e9)).sort((a, b) => a - b)

describe("weigh", () => {
  it.each([[[5]], [[3, 8]], [[8, 1, 4]], [[2, 9, 0, 7]], [[4, 9, 0, 7, 5]], [[6, 6, 6, 6, 6, 6, 6]]])("knows all of %j", (values) => {
    const found = weigh(make(values), null)
    expect(sorted(found)).toEqual(values.toSorted((a, b) => a - b))
    expect(found).toMatchObject({ exact: values.length, count: values.length })
  })

  it("puts what it does not know at the mean, and says how much that is", () => {
    const found = weigh(make([1, 2, 30, 4, 5, 6]), null)
    expect(found).toMatchObject({ count: 6, exact: 3 })
    expect(found.values.at(-1)).toBeCloseTo(11 / 3)
  })

  it("leaves out what is not finite or not in the range", () => {
    expect(sorted(weigh(make([1], [NaN], [3], [NaN, 4]), { from: 1, to: 3 }))).toEqual([3, 4])
  })
})

it("finds quantiles by weight", () => {
  const all = [weigh(make(...Array.from({ length: 100 }, (_, index) => [index + 1])), null)]
  expect([0.5, 0.9, 0.99, 1].map((q) => quantile(all, q))).toEqual([50, 90, 99, 100])
  expect(quantile([], 0.5)).toBeNaN()
})
