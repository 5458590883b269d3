import { describe, expect, it } from "vitest"
import { paletteIndex, seriesLabels, toLines } from "./lines"
import type { Series } from "./series"

const make = (source: string, rank: number, values: number[]): Series => ({
  source, rank, points: values.map((value, i) => ({ step: i, samples: i * 10, version: i, time: 500 + i, value })),
})

describe("toLines", () => {
  it("draws along the chosen axis", () => {
    const series = [make("worker-0", 0, [3, 2])]
    expect(toLines(series, "samples", 0, 500)[0]).toMatchObject({ xs: [0, 10], ys: [3, 2], label: "worker 0" })
    expect(toLines(series, "time", 0, 500)[0]!.xs).toEqual([0, 1])
  })

  it("keeps what was measured beside what is smoothed", () => {
    const [line] = toLines([make("worker-0", 0, [4, 0, 4])], "step", 0.9, 0)
    expect(line!.raw).toEqual([4, 0, 4])
    expect(line!.ys[1]).toBeGreaterThan(1)
  })

  it("sorts by x, since sources need not report in order", () => {
    const series = { ...make("server-0", 0, []), points: [5, 3].map((step) => ({ step, samples: step, version: step, time: step, value: step })) }
    expect(toLines([{ ...series, points: [...series.points].reverse() }], "step", 0, 0)[0]!.xs).toEqual([3, 5])
  })
})

it("names the shard where several speak about one worker", () => {
  const two = [make("server-0", 0, [1]), make("server-1", 0, [1]), make("evaluator", -1, [1])]
  expect(seriesLabels(two)).toEqual(["worker 0, by server 0", "worker 0, by server 1", "evaluator"])
  expect(two.map((_, i) => paletteIndex(two, i))).toEqual([0, 1, 2])
})

it("gives a worker its colour by its rank, whether or not the others have reported", () => {
  expect(paletteIndex([make("worker-3", 3, [1])], 0)).toBe(3)
})
