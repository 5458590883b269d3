import { expect, it } from "vitest"
import type { DataLine } from "@/lib/charts/chartData"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { carried, heatOf, heatShare, middleOf, slicesRange } from "./heat"

const make = (rank: number, source: string, ...given: [x: number, mean: number, count: number, high: number][]): DataLine => {
  const columns = emptyColumns()
  for (const [x, mean, count, high] of given) insert(columns, { x, first: mean, low: mean, high, last: mean, mean, count, odd: 0 })
  return { source, rank, columns, total: 0, latest: null }
}
const lines = [
  make(1, "server-0", [0, 2, 1, 2], [9, 4, 1, 4]),
  make(0, "server-0", [1, 1, 3, 9], [2, 5, 1, 5], [30, 99, 1, 99]),
  make(-1, "evaluator", [1, 7, 1, 7]),
]

it("is the mean of all points of a worker in a slice, or the highest", () => {
  const heat = heatOf(lines, { from: 0, to: 10 }, 2, "mean")
  expect(heat).toMatchObject({ ranks: [0, 1], values: [[2, null], [2, 4]], highest: 4 })
  expect(heatOf(lines, { from: 0, to: 10 }, 2, "high").values).toEqual([[9, null], [2, 4]])
})

it("has the last moment in the last slice", () => {
  expect(heatOf([make(0, "s", [10, 3, 1, 3])], { from: 0, to: 10 }, 4, "mean").values).toEqual([[null, null, null, 3]])
})

it("knows the times of a cell, and of several", () => {
  expect(slicesRange({ from: 100, to: 110, slices: 5 }, 1)).toEqual({ from: 102, to: 104 })
  expect(slicesRange({ from: 100, to: 110, slices: 5 }, 1, 3)).toEqual({ from: 102, to: 108 })
})

it("spreads values on a logarithmic scale from 0 to the highest", () => {
  const scale = { highest: 63, least: 1 }
  expect([0, 1, 7, 63].map((value) => heatShare(value, scale).toFixed(3))).toEqual(["0.000", "0.167", "0.500", "1.000"])
  expect(middleOf(scale)).toBeCloseTo(7)
  expect(heatShare(0, { highest: 0, least: 1 })).toBe(0)
})

it("shows a push of a slow worker for as long as the worker took, and leaves the time in which it was away", () => {
  expect(carried([4, null, null, 5, null, null, 6])).toEqual([4, 5, 5, 5, 6, 6, 6])
  expect(carried([4, 4, 4, null, null, null, null, 6, null])).toEqual([4, 4, 4, null, null, null, null, 6, null])
  expect(carried([null, 1, null])).toEqual([null, 1, null])
})
