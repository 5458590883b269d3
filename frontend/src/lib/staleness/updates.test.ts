import { expect, test } from "vitest"
import type { UpdateGroup } from "@/client"
import { binAt, decades, groupName, groupTick, magnitudeAt, magnitudeMap, normScale } from "./updates"

function group(changes: Partial<UpdateGroup>): UpdateGroup {
  return { low: 0, high: 0, count: 1, dropped: 0, elements: 4, zeros: 0, not_finite: 0, first: 0, counts: [], median: null, norm: { p10: 1, p50: 2, p90: 4 }, ...changes }
}

test("bins begin at powers of two and in the middle between them", () => {
  expect([252, 253, 254, 255].map(magnitudeAt)).toEqual([1, 1.5, 2, 3])
  for (const x of [1, 1.25, 1.5, 2, 1e-7, 12_345]) expect(magnitudeAt(binAt(x))).toBeCloseTo(x, 9)
})

test("a map has common bins, and shares of all elements, zeros among them", () => {
  const map = magnitudeMap([group({ first: 10, counts: [1, 2], zeros: 1 }), group({ first: 12, counts: [4] }), group({ zeros: 4 })])!
  expect([map.low, map.high, map.highest]).toEqual([10, 13, 1])
  expect(map.shares).toEqual([[0.25, 0.5, 0], [0, 0, 1], [0, 0, 0]])
  expect(magnitudeMap([group({ zeros: 4 })])).toBeNull()
})

test("the axis has powers of ten", () => {
  const map = magnitudeMap([group({ first: Math.floor(binAt(0.005)), counts: Array.from({ length: 24 }, () => 1) })])!
  expect(decades(map).map((bin) => Number(magnitudeAt(bin).toPrecision(6)))).toEqual([0.01, 0.1, 1, 10])
})

test("groups are named by their range", () => {
  const range = group({ low: 3, high: 4 })
  expect([groupTick(range, "staleness"), groupName(range, "staleness")]).toEqual(["3–4", "Staleness 3 to 4"])
  expect([groupTick(range, "samples"), groupName(range, "samples")]).toEqual(["3", "3 to 4 samples"])
  expect(groupName(group({}), "staleness")).toBe("Staleness 0")
})

test("norms have a logarithmic scale with round ticks", () => {
  const scale = normScale([group({}), group({ norm: { p10: 4, p50: 16, p90: 100 } })])!
  expect([1, 10, 100].map(scale.place)).toEqual([0, 0.5, 1])
  expect(scale.place(0)).toBe(0)
  expect(normScale([group({ norm: { p10: 1, p50: 2, p90: 16 } })])!.ticks).toEqual([1, 2, 5, 10])
  expect(normScale([group({ norm: { p10: 3, p50: 3, p90: 3 } })])!.place(3)).toBeCloseTo(0.5)
  expect(normScale([group({ norm: { p10: 0, p50: 0, p90: 0 } })])).toBeNull()
})
