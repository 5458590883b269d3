import { describe, expect, it } from "vitest"
import { formatMoments } from "@/lib/format"
import { barShare, binLabel, binName, countTicks, histogram } from "./histogram"

const counted = (low: number | null, width: number, ...counts: number[][]) => ({ low, width, bins: counts[0]!.length, series: counts.map((row) => ({ counts: row })) })

describe("histogram", () => {
  it("draws the bins as they were counted while they fit", () => {
    expect(histogram(counted(3, 1, [1, 2, 0], [0, 0, 5]))).toEqual({ bins: [3, 4, 5], width: 1, counts: [[1, 2, 0], [0, 0, 5]] })
  })

  it("takes neighbours together, and loses no value", () => {
    const { bins, width, counts } = histogram(counted(10, 2, Array.from({ length: 190 }, (_, bin) => bin)), 20)
    expect(bins.slice(0, 3)).toEqual([10, 30, 50])
    expect([bins.length, width]).toEqual([19, 20])
    expect(counts[0]![1]).toBe(145)
    expect(counts[0]!.reduce((sum, count) => sum + count)).toBe((189 * 190) / 2)
  })

  it("has no bins without values", () => {
    expect(histogram(counted(null, 1, [])).bins).toEqual([])
  })
})

it("names a bin by the values that it counts", () => {
  expect([binName(6, 1), binName(6, 2)]).toEqual(["6", "6 to 7"])
  expect(binName(0.006, 0.002, formatMoments)).toBe("6 ms to 8 ms")
})

it("labels a bin by all that it counts, and a measured one by where it begins", () => {
  expect([binLabel(6, 1), binLabel(6, 3), binLabel(0.006, 0.002, formatMoments)]).toEqual(["6", "6–8", "6 ms"])
})

it("has counts at its axis, up to the highest bar", () => {
  expect(countTicks(1350, false)).toEqual([0, 500, 1000, 1500])
  expect(countTicks(1, false)).toEqual([0, 1])
  expect(countTicks(1350, true)).toEqual([1, 10, 100, 1000, 10_000])
})

it("shows one push of ten thousand on a logarithmic scale", () => {
  expect(barShare(1, 10_000, false)).toBe(0.0001)
  expect(barShare(1, 10_000, true)).toBeGreaterThan(0.06)
  expect([0, 10_000].map((count) => barShare(count, 10_000, true))).toEqual([0, 1])
})
