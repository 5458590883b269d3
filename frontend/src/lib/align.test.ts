import { describe, expect, it } from "vitest"
import { align, nearest } from "./align"

describe("align", () => {
  it("brings lines onto one axis and marks what was not measured as undefined", () => {
    const columns = align([{ xs: [1, 3], ys: [10, 30] }, { xs: [2, 3], ys: [200, 300] }])
    expect(columns).toEqual([[1, 2, 3], [10, undefined, 30], [undefined, 200, 300]])
  })

  it("loses no point where one line has the same x twice", () => {
    const columns = align([{ xs: [1, 1, 2], ys: [5, 6, 7] }, { xs: [1], ys: [9] }])
    expect(columns).toEqual([[1, 1, 2], [5, 6, 7], [9, undefined, undefined]])
  })

  it("makes a gap of NaN and of infinity", () => {
    expect(align([{ xs: [1, 2, 3], ys: [1, NaN, Infinity] }])[1]).toEqual([1, null, null])
  })

  it("is empty without lines", () => {
    expect(align([])).toEqual([[]])
  })
})

it("finds the nearest index", () => {
  expect([-5, 0, 4.9, 5.1, 99].map((x) => nearest([0, 10, 20], x))).toEqual([0, 0, 0, 1, 2])
  expect(nearest([], 1)).toBe(-1)
})
