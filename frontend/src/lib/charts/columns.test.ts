import { describe, expect, it } from "vitest"
import { columnAt, compact, emptyColumns, extent, fromWire, insert, join, nearest, points, type Column, type Columns } from "./columns"

const one = (x: number, value: number): Column => ({
  x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: Number.isFinite(value) ? 0 : 1,
})
const make = (...given: [x: number, value: number][]): Columns => {
  const columns = emptyColumns()
  for (const [x, value] of given) insert(columns, one(x, value))
  return columns
}

describe("insert", () => {
  it("keeps x ascending when a worker goes back", () => {
    expect(make([1, 10], [5, 50], [3, 30]).x).toEqual([1, 3, 5])
    expect(make([1, 10], [5, 50], [3, 30]).last).toEqual([10, 30, 50])
  })

  it("says whether a column came to the end", () => {
    const columns = make([1, 10], [5, 50])
    expect(insert(columns, one(5, 60))).toBe(true)
    expect(insert(columns, one(3, 30))).toBe(false)
  })

  it("keeps the order of arrival where x is the same", () => {
    expect(make([1, 10], [1, 20]).first).toEqual([10, 20])
  })
})

describe("join", () => {
  it("is first of firsts, lowest of lows, last of lasts, and the mean of all points", () => {
    const three = join(join(one(1, 4), one(2, -2)), one(3, 1))
    expect(three).toEqual({ x: 1, first: 4, low: -2, high: 4, last: 1, mean: 1, count: 3, odd: 0 })
  })

  it("counts what is not finite and takes the rest from the other side", () => {
    expect(join(one(1, NaN), one(2, 5))).toEqual({ x: 1, first: 5, low: 5, high: 5, last: 5, mean: 5, count: 2, odd: 1 })
    expect(join(one(1, 5), one(2, NaN))).toEqual({ x: 1, first: 5, low: 5, high: 5, last: 5, mean: 5, count: 2, odd: 1 })
    expect(join(one(1, NaN), one(2, NaN))).toMatchObject({ low: NaN, high: NaN, mean: NaN, count: 2, odd: 2 })
  })
})

describe("compact", () => {
  const columns = emptyColumns()
  const values = Array.from({ length: 5000 }, (_, x) => (x === 3141 ? 1e6 : x === 27 ? NaN : Math.sin(x * 12.9898) * 43758.5453 % 1))
  values.forEach((value, x) => insert(columns, one(x, value)))

  it("loses no point and no extreme, however far it goes", () => {
    for (const width of [1, 7, 100, 800]) {
      const less = compact(compact(columns, width * 3), width)
      expect(less.x.length).toBeLessThanOrEqual(width + 1)
      expect(points(less)).toBe(5000)
      expect(less.odd.reduce((a, b) => a + b)).toBe(1)
      expect(Math.max(...less.high.filter(Number.isFinite))).toBe(1e6)
      expect(Math.min(...less.low.filter(Number.isFinite))).toBe(Math.min(...values.filter(Number.isFinite)))
      expect(columnAt(less, 0).first).toBe(values[0])
      expect(less.last.at(-1)).toBe(values.at(-1))
    }
  })

  it("makes one column of points at one place", () => {
    expect(compact(make([2, 1], [2, 3]), 10)).toMatchObject({ x: [2], low: [1], high: [3], count: [2] })
  })

  it("leaves nothing of nothing", () => {
    expect(compact(emptyColumns(), 10).x).toEqual([])
  })
})

it("finds what a range reaches to, the column that begins before it included", () => {
  const columns = make([0, 9], [10, 1], [20, 5], [30, -7])
  expect(extent(columns, 12, 25)).toEqual([1, 5])
  expect(extent(columns, -5, -1)).toBeNull()
  expect(extent(make([1, NaN]), 0, 2)).toBeNull()
})

it("finds the nearest index", () => {
  expect([-5, 0, 4.9, 5.1, 99].map((x) => nearest([0, 10, 20], x))).toEqual([0, 0, 0, 1, 2])
  expect(nearest([], 1)).toBe(-1)
})

it("reads null as what is not finite", () => {
  const wire = { x: [1], first: [null], low: [null], high: [null], last: [null], mean: [null], count: [2], odd: [2] }
  expect(fromWire(wire)).toMatchObject({ x: [1], low: [NaN], count: [2] })
})
