import { describe, expect, it } from "vitest"
import { smooth } from "./smoothing"

describe("smooth", () => {
  it("changes nothing at weight 0", () => {
    expect(smooth([3, 1, 2], 0)).toEqual([3, 1, 2])
  })

  it("begins at the first value and keeps a constant constant", () => {
    expect(smooth([5, 5, 5], 0.9)).toEqual([5, 5, expect.closeTo(5, 12)])
  })

  it("is the weighted mean of what came before", () => {
    expect(smooth([1, 4], 0.5)[1]).toBeCloseTo((0.25 * 1 + 0.5 * 4) / 0.75, 12)
  })

  it("leaves NaN in its place and goes on after it", () => {
    const smoothed = smooth([2, NaN, 2], 0.8)
    expect(smoothed[1]).toBeNaN()
    expect(smoothed[2]).toBeCloseTo(2, 12)
  })
})
