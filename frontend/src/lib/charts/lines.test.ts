import { describe, expect, it } from "vitest"
import { axisView } from "./axes"
import type { DataLine } from "./chartData"
import { emptyColumns, insert } from "./columns"
import { gapOf, isEmptyIn, lastOf, lineLabels, paletteIndex, reach, span, toLines } from "./lines"

const make = (source: string, rank: number, values: number[], counts = 1): DataLine => {
  const columns = emptyColumns()
  values.forEach((value, x) => insert(columns, { x, first: value, low: value - 1, high: value + 1, last: value, mean: value, count: counts, odd: 0 }))
  return { source, rank, columns, total: values.length * counts, latest: values.at(-1) ?? null }
}

describe("toLines", () => {
  it("draws the columns themselves while they hold about a point each", () => {
    expect(toLines([make("worker-0", 0, [3, 2])], 0)[0]).toMatchObject({ label: "worker 0", averaged: false, means: [3, 2] })
  })

  it("draws a line through the means where columns are dense or smoothing is wanted", () => {
    expect(toLines([make("worker-0", 0, [3, 2], 9)], 0)[0]).toMatchObject({ averaged: true, means: [3, 2] })
    const [line] = toLines([make("worker-0", 0, [4, 0, 4])], 0.9)
    expect(line!.averaged).toBe(true)
    expect(line!.means[1]).toBeGreaterThan(1)
  })
})

it("names the shard where several speak about one worker", () => {
  const two = [make("server-0", 0, [1]), make("server-1", 0, [1]), make("evaluator", -1, [1]), make("worker-0/1", -1, [1])]
  expect(lineLabels(two)).toEqual(["worker 0, by server 0", "worker 0, by server 1", "evaluator", "worker 0, peer 1"])
  expect(two.map((_, i) => paletteIndex(two, i))).toEqual([0, 1, 2, 3])
})

it("gives a worker its colour by its rank, whether or not the others have reported", () => {
  expect(paletteIndex([make("worker-3", 3, [1])], 0)).toBe(3)
})

it("reaches from the first point of all lines to the last", () => {
  expect(reach([make("a", 0, [1, 2, 3]), make("b", 1, [1]), make("c", 2, [])])).toEqual([0, 2])
  expect(reach([make("a", 0, [])])).toBeNull()
})

describe("span", () => {
  const lines = [make("a", 0, [5, 9]), make("b", 1, [2, 3])]

  it("takes in the extremes of all lines in the range, and the threshold", () => {
    expect(span(lines, 0, 1, "linear", null)).toEqual([1, 10])
    expect(span(lines, 0, 0.5, "linear", { value: 20, label: "" })).toEqual([1, 20])
    expect(span(lines, -9, -1, "linear", null)).toBeNull()
  })

  it("leaves out what a logarithm does not have", () => {
    expect(span([make("a", 0, [0.5, 7])], 0, 1, "log", null)).toEqual([0.5, 8])
  })
})

it("sees a gap on the axis of time alone", () => {
  const columns = emptyColumns()
  for (const x of [0, 1, 2, 3, 4, 5, 6, 7, 8, 60]) insert(columns, { x, first: 1, low: 1, high: 1, last: 1, mean: 1, count: 1, odd: 0 })
  expect(gapOf(axisView("time", 0, null), columns)).toBe(20)
  expect(gapOf(axisView("step", 0, null), columns)).toBe(Infinity)
})

describe("in a range", () => {
  const line = make("worker-0", 0, [5, 9, 7, 8])

  it("has the last point there for the latest, and none where there is no point: that is not NaN", () => {
    expect(lastOf(line, null)).toBe(8)
    expect(lastOf(line, { from: 0.5, to: 2.5 })).toBe(7)
    expect(lastOf(line, { from: 0.2, to: 0.8 })).toBeNull()
  })

  it("knows whether any line has a point", () => {
    expect(isEmptyIn([line, make("worker-1", 1, [])], { from: 0.2, to: 0.8 })).toBe(true)
    expect(isEmptyIn([line], { from: 0.2, to: 1 })).toBe(false)
    expect(isEmptyIn([line], { from: 3.5, to: 9 })).toBe(true)
  })
})

it("counts the points that are not finite, also as columns grow", () => {
  const columns = emptyColumns()
  const add = (x: number, odd: number) => insert(columns, { x, first: NaN, low: NaN, high: NaN, last: NaN, mean: NaN, count: odd, odd })
  add(0, 132)
  const oddOf = () => toLines([{ source: "worker-0", rank: 0, columns, total: 132, latest: null }], 0)[0]!.odd
  expect(oddOf()).toBe(132)
  add(1, 2)
  expect(oddOf()).toBe(134)
})
