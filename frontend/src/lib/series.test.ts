import { describe, expect, it } from "vitest"
import { append, effective, latest, mergeHistory, toPoint, type Point, type Series } from "./series"

const point = (step: number, value = step): Point => ({ step, samples: step * 32, version: step, time: 1000 + step, value })
const series = (source: string, rank: number, steps: number[]): Series => ({ source, rank, points: steps.map((s) => point(s)) })

describe("append", () => {
  it("adds to the series it belongs to and leaves the others as they were", () => {
    const before = [series("worker-0", 0, [1]), series("worker-1", 1, [1])]
    const after = append(before, "worker-1", 1, [point(2)])
    expect(after[0]).toBe(before[0])
    expect(after[1]!.points.map((p) => p.step)).toEqual([1, 2])
  })

  it("orders new series by worker, whoever reports first", () => {
    const after = append(append([], "worker-1", 1, [point(1)]), "worker-0", 0, [point(1)])
    expect(after.map((s) => s.rank)).toEqual([0, 1])
  })
})

describe("mergeHistory", () => {
  it("doubles no point that the history and the stream both have", () => {
    const merged = mergeHistory([series("worker-0", 0, [1, 2, 3])], [series("worker-0", 0, [2, 3, 4])])
    expect(merged[0]!.points.map((p) => p.step)).toEqual([1, 2, 3, 4])
  })

  it("keeps a series that only the stream knows", () => {
    const merged = mergeHistory([series("worker-0", 0, [1])], [series("worker-1", 1, [1])])
    expect(merged.map((s) => s.source)).toEqual(["worker-0", "worker-1"])
  })
})

describe("effective", () => {
  const resumed = [point(1), point(2), point(3), point(4), { ...point(3, 30), time: 2000 }, { ...point(4, 40), time: 2001 }]

  it("drops what a return to an earlier cut has undone", () => {
    expect(effective(resumed, "samples").map((p) => p.value)).toEqual([1, 2, 30, 40])
  })

  it("keeps everything on the axis of time", () => {
    expect(effective(resumed, "time")).toHaveLength(6)
  })

  it("keeps points of a worker that began its steps anew while the job went on", () => {
    const respawned = [point(5), { ...point(1), samples: 500 }]
    expect(effective(respawned, "samples")).toHaveLength(2)
  })
})

it("reads a value that is not finite as NaN, and skips it as the latest", () => {
  const points = [toPoint([1, 32, 1, 1000, 0.5]), toPoint([2, 64, 2, 1001, null])]
  expect(points[1]!.value).toBeNaN()
  expect(latest({ source: "worker-0", rank: 0, points })).toBe(0.5)
})
