import { expect, it } from "vitest"
import { ticksBetween } from "./ticks"

it("puts ticks at round places", () => {
  expect(ticksBetween(1.8, 37, 8, false)).toEqual({ places: [5, 10, 15, 20, 25, 30, 35], step: 5 })
  expect(ticksBetween(0, 100_000, 4, false).places).toEqual([0, 50_000, 100_000])
  expect(ticksBetween(0, 0.4, 4, true).step).toBeCloseTo(0.1)
})

it("counts time in minutes and hours", () => {
  expect(ticksBetween(0, 400, 8, true).places).toEqual([0, 60, 120, 180, 240, 300, 360])
  expect(ticksBetween(0, 7200, 8, true).step).toBe(900)
})

it("has none where nothing lies between the ends", () => {
  expect(ticksBetween(3, 3, 8, false).places).toEqual([])
})
