import { describe, expect, it } from "vitest"
import { histogram } from "./histogram"

const once = (values: number[]) => ({ values, weights: values.map(() => 1) })

describe("histogram", () => {
  it("counts whole numbers one by one while they fit", () => {
    expect(histogram([once([0, 1, 1]), once([3])])).toEqual({ bins: [0, 1, 2, 3], width: 1, counts: [[1, 2, 0, 0], [0, 0, 0, 1]] })
  })

  it("counts a value as often as it was measured", () => {
    expect(histogram([{ values: [1, 2], weights: [5, 7] }]).counts).toEqual([[5, 7]])
  })

  it("widens the bins, and loses no value", () => {
    const { bins, width, counts } = histogram([once(Array.from({ length: 1000 }, (_, index) => index))], 20)
    expect(bins.length).toBeLessThanOrEqual(20)
    expect(width).toBe(50)
    expect(counts[0]!.reduce((sum, count) => sum + count)).toBe(1000)
  })

  it("has no bins without values", () => {
    expect(histogram([once([])]).bins).toEqual([])
  })
})
