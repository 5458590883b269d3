import { expect, it } from "vitest"
import { around, nearestOutside } from "./nearest"

it("finds the place that is nearest to an end of the range", () => {
  expect(nearestOutside([1, 5, 21, 40], { from: 10, to: 20 })).toBe(21)
  expect(nearestOutside([1, 8, 25], { from: 10, to: 20 })).toBe(8)
  expect(nearestOutside([], { from: 10, to: 20 })).toBeNull()
})

it("moves a range to a place without changing its width", () => {
  expect(around(77_772, { from: 0, to: 15 })).toEqual({ from: 77_764.5, to: 77_779.5 })
})
