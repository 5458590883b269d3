import { describe, expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { axisView, formatStepped, panned, parseRange, pinched, samplesPerEpoch, shown, unshown, writeRange, zoomed } from "./axes"

describe("axisView", () => {
  it("shows time from the job's beginning, or as the clock", () => {
    expect(shown(1012, axisView("time", 1000, null))).toBe(12)
    expect(shown(1012, axisView("wall", 1000, null))).toBe(1012)
  })

  it("counts epochs in samples", () => {
    const view = axisView("epoch", 0, 500)
    expect(view.wire).toBe("samples")
    expect(shown(1250, view)).toBe(2.5)
    expect(unshown(2.5, view)).toBe(1250)
  })
})

it("knows the samples of an epoch as they were counted, or where the job ends after epochs", () => {
  const { spec, progress } = makeJob()
  const four = { ...spec, stop: { ...spec.stop, epochs: 4 } }
  expect(samplesPerEpoch({ spec, progress: { ...progress, epoch_samples: 320 } })).toBe(320)
  expect(samplesPerEpoch({ spec: four, progress: { ...progress, total_samples: 2000 } })).toBe(500)
  expect(samplesPerEpoch({ spec, progress })).toBeNull()
})

describe("a range", () => {
  it("comes back from the address as it was", () => {
    for (const range of [{ from: 0, to: 12 }, { from: 1763683200.25, to: 1763683201.5 }, { from: -3, to: 1e7 }]) {
      expect(parseRange(writeRange(range))).toEqual(range)
    }
    expect(writeRange(null)).toBe("")
  })

  it("is none where the address makes no sense", () => {
    for (const text of [null, "", "3", "5~2", "a~b", "~5", "1~1"]) expect(parseRange(text)).toBeNull()
  })

  it("moves and narrows around a place", () => {
    expect(panned({ from: 10, to: 20 }, 0.5)).toEqual({ from: 15, to: 25 })
    expect(zoomed({ from: 0, to: 100 }, 0.5)).toEqual({ from: 25, to: 75 })
    expect(zoomed({ from: 0, to: 100 }, 0.5, 0)).toEqual({ from: 0, to: 50 })
  })

  it("keeps under fingers what lay under them", () => {
    expect(pinched({ from: 0, to: 100 }, [0.5], [0.25])).toEqual({ from: 25, to: 125 })
    expect(pinched({ from: 0, to: 100 }, [0.25, 0.5], [0.25, 0.75])).toEqual({ from: 12.5, to: 62.5 })
    expect(pinched({ from: 0, to: 100 }, [0.5, 0.6], [0.6, 0.5])).toEqual({ from: 0, to: 100 })
    const { from, to } = pinched({ from: 0, to: 100 }, [0, 1], [0.5, 0.5])
    expect(to - from).toBeCloseTo(2500)
  })
})

it("writes ticks of numbers that have no name with a power of ten", () => {
  expect([0, 5e32, 1e33].map((y) => formatStepped(y, 5e32))).toEqual(["0", "5e32", "1.0e33"])
  expect([1.25e38, -1e38].map((y) => formatStepped(y, 2.5e37))).toEqual(["1.25e38", "-1.00e38"])
  expect(formatStepped(2e15, 1e15)).toBe("2e15")
})

it("tells ticks apart, however close they are", () => {
  expect([1234, 1234.5].map((x) => formatStepped(x, 0.5))).toEqual(["1234.0", "1234.5"])
  expect([1_234_500, 1_234_600].map((x) => formatStepped(x, 100))).toEqual(["1,234,500", "1,234,600"])
  expect([77_771, 77_772].map((x) => formatStepped(x, 1))).toEqual(["77,771", "77,772"])
  expect([75_000, 1_250_000].map((x) => formatStepped(x, 25_000))).toEqual(["75k", "1.25M"])
  expect(axisView("time", 0, null).format(75.25, 0.25)).toBe("75.25 s")
  expect([10, 12.5].map((x) => axisView("time", 0, null).format(x, 2.5))).toEqual(["10.0 s", "12.5 s"])
  expect([0, 90].map((x) => axisView("time", 0, null).format(x, 30))).toEqual(["0 s", "1 min 30 s"])
})

it("says one place in full", () => {
  expect([77_771, 77_772].map(axisView("step", 0, null).exact)).toEqual(["77,771", "77,772"])
  expect(axisView("epoch", 0, 320).exact(2.003125)).toBe("2.003125")
  expect([75.25, 3725.5, 12.0625].map(axisView("time", 0, null).exact)).toEqual(["1 min 15.25 s", "1 h 2 min 5.5 s", "12.063 s"])
})
