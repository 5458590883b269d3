import { expect, it } from "vitest"
import { logTicks, numbered, symlogTicks, TICK_STEPS, ticksBetween } from "./ticks"

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

it("has steps for numbers of every size", () => {
  for (let power = -30; power <= 307; power++) {
    const width = Number(`3e${power}`)
    const steps = TICK_STEPS.filter((step) => width / step >= 2 && width / step <= 10)
    expect(steps.length, `${width}`).toBeGreaterThanOrEqual(2)
  }
})

const wide = { decade: 700, space: 30 }

it("puts ticks of a logarithm at powers of ten and their multiples", () => {
  expect(logTicks(0.3, 20, wide)).toEqual([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20])
  expect(logTicks(2e37, 1e38, wide)).toEqual([2e37, 3e37, 4e37, 5e37, 6e37, 7e37, 8e37, 9e37, 1e38])
  expect(symlogTicks(-20, 10, 10, wide)).toEqual([-20, -10, 0])
  expect(symlogTicks(-1, 2000, 1000, wide)).toEqual([0, 1000, 2000])
  expect(symlogTicks(2000, 4000, 1, wide)).toEqual([2000, 3000, 4000])
})

function numbersOf(low: number, high: number, decade: number): (number | null)[] {
  const pixels = { decade, space: 30 }
  return numbered(logTicks(low, high, pixels), pixels).filter((tick) => tick !== null)
}

it("numbers as many ticks of a logarithm as there is space for", () => {
  expect(numbersOf(1, 10, 700)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(numbersOf(1, 10, 100)).toEqual([1, 2, 5, 10])
  expect(numbersOf(1, 10, 40)).toEqual([1, 10])
  expect(numbersOf(1e-10, 3e6, 11)).toEqual([1e-9, 1e-6, 1e-3, 1, 1e3, 1e6])
  expect(numbersOf(1e30, 4e41, 16)).toEqual([1e30, 1e32, 1e34, 1e36, 1e38, 1e40])
})

it("leaves out ticks of a logarithm that would fill the chart", () => {
  expect(logTicks(1e-10, 1e37, { decade: 2.5, space: 30 })).toEqual([1, 1e12, 1e24, 1e36])
})
