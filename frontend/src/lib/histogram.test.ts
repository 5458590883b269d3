import { describe, expect, it } from "vitest"
import { histogram } from "./histogram"

describe("histogram", () => {
  it("counts whole numbers one by one while they fit", () => {
    expect(histogram([[0, 1, 1], [3]])).toEqual({ bins: [0, 1, 2, 3], width: 1, counts: [[1, 2, 0, 0], [0, 0, 0, 1]] })
  })

  it("widens the bins, and loses no value", () => {
    const values = Array.from({ length: 1000 }, (_, index) => index)
    const { bins, width, counts } = histogram([values], 20)
    expect(bins.length).toBeLessThanOrEqual(20)
    expect(width).toBe(50)
    expect(counts[0]!.reduce((sum, count) => sum + count)).toBe(1000)
  })

  it("leaves out what is not finite", () => {
    expect(histogram([[2, NaN, Infinity]]).counts).toEqual([[1]])
  })

  it("has no bins without values", () => {
    expect(histogram([[]]).bins).toEqual([])
  })
})
