import { describe, expect, it, vi } from "vitest"
import { LiveMetrics, type LiveEvent, type WirePoint } from "@/lib/stream/live"
import { ChartData, type ChartAnswer, type ChartQuestion } from "./chartData"
import { points } from "./columns"

const ALL: ChartQuestion = { axis: "step", range: null, width: 400 }
const NAME = "train/loss"

const point = (step: number, value: number | null = step): WirePoint => [step, step * 32, step, 1000 + step, value]
const event = (total: number, given: WirePoint[], over: Partial<LiveEvent["series"][number]> = {}): LiveEvent => ({
  seq: total,
  series: [{
    name: NAME, attempt: 1, source: "worker-0", rank: 0, total, count: given.length, odd: given.filter((p) => p[4] === null).length,
    sum: given.reduce((sum, p) => sum + (p[4] ?? 0), 0), points: given, ...over,
  }],
})
const answer = (steps: number[], total = steps.length, attempt = 1): ChartAnswer => ({
  series: [{
    attempt, source: "worker-0", rank: 0, total,
    columns: { x: steps, first: steps, low: steps, high: steps, last: steps, mean: steps, count: steps.map(() => 1), odd: steps.map(() => 0) },
  }],
})
const open = () => {
  const live = new LiveMetrics()
  const behind = vi.fn()
  const data = new ChartData(NAME, live)
  data.follow(behind)
  return { live, data, behind, line: () => data.lines[0]! }
}

describe("an answer and the stream", () => {
  it("add up, whichever comes first", () => {
    const { live, data, line, behind } = open()
    live.add(event(2, [point(1), point(2)]))
    data.answer(answer([1, 2, 3]), ALL)
    live.add(event(3, [point(3)]))
    live.add(event(5, [point(4), point(5)]))
    expect(line().columns.x).toEqual([1, 2, 3, 4, 5])
    expect(line().total).toBe(5)
    expect(behind).not.toHaveBeenCalled()
  })

  it("count no point twice where a tick began before the answer and ended after it", () => {
    const { live, data, line } = open()
    data.answer(answer([1, 2, 3]), ALL)
    live.add(event(6, [point(2), point(5, 50), point(6, 0), point(6)], { count: 5, sum: 63 }))
    expect(line().total).toBe(6)
    expect(points(line().columns)).toBe(6)
    expect(Math.max(...line().columns.high)).toBe(50)
  })

  it("tells of a series that the answer does not know", () => {
    const { live, data } = open()
    data.answer(answer([1]), ALL)
    live.add(event(1, [point(1)], { source: "worker-1", rank: 1 }))
    expect(data.lines.map(({ rank, total }) => [rank, total])).toEqual([[0, 1], [1, 1]])
  })
})

it("puts first, lowest, highest, last, count and odd of a thick tick into one column", () => {
  const { live, data, line } = open()
  data.answer({ series: [] }, ALL)
  live.add(event(100, [point(1, 5), point(40, -3), point(60, 9), point(100, 4)], { count: 100, odd: 2, sum: 196 }))
  expect(line().columns).toEqual({ x: [1], first: [5], low: [-3], high: [9], last: [4], mean: [2], count: [100], odd: [2] })
})

it("stays within twice its width and keeps every extreme", () => {
  const { live, data, line } = open()
  data.answer({ series: [] }, { ...ALL, width: 50 })
  for (let step = 1; step <= 1000; step++) live.add(event(step, [point(step, step === 500 ? 1e6 : step)]))
  expect(line().columns.x.length).toBeLessThanOrEqual(101)
  expect(points(line().columns)).toBe(1000)
  expect(Math.max(...line().columns.high)).toBe(1e6)
  expect(line().latest).toBe(1000)
})

it("draws only what lies in the range, and knows of the rest", () => {
  const { live, data, line } = open()
  data.answer(answer([1, 2]), { ...ALL, range: { from: 0, to: 3 } })
  live.add(event(4, [point(3), point(4)]))
  expect(line().columns.x).toEqual([1, 2, 3])
  expect(line().total).toBe(4)
})

it("lets columns grow in place at their end, and makes new ones of those that a worker goes back in", () => {
  const { live, data, line } = open()
  data.answer(answer([1, 2, 5]), ALL)
  const { columns } = line()
  live.add(event(4, [point(6)]))
  expect(line().columns).toBe(columns)
  live.add(event(6, [point(3), point(7)]))
  expect(line().columns).not.toBe(columns)
  expect(line().columns.x).toEqual([1, 2, 3, 5, 6, 7])
})

it("joins the attempts of a worker, and asks again when one begins that may undo points", () => {
  const { live, data, behind } = open()
  data.answer({ series: [...answer([1, 2], 2, 1).series, ...answer([3, 4], 2, 2).series] }, ALL)
  expect(data.lines).toHaveLength(1)
  expect(data.lines[0]!.columns.x).toEqual([1, 2, 3, 4])
  live.add(event(1, [point(3)], { attempt: 3 }))
  expect(behind).toHaveBeenCalledTimes(1)
})

it("asks again when the stream went on beyond what is kept of it", () => {
  const { live, data, behind } = open()
  for (let step = 1; step <= 400; step++) live.add(event(step, [point(step)]))
  data.answer(answer([1, 2, 3]), ALL)
  expect(behind).toHaveBeenCalled()
})

it("tells only those who listen to that metric", () => {
  const { live, data } = open()
  data.answer({ series: [] }, ALL)
  const before = data.version
  live.add(event(1, [point(1)], { name: "train/staleness" }))
  expect(data.version).toBe(before)
})

describe("a tick that holds the points of a long time", () => {
  const away = (from: number, to: number) => event(to, [point(from), point(to)], { count: to - from + 1, sum: 1 })

  it("is asked for again, and again until the answer has it", () => {
    const { live, data, line, behind } = open()
    data.answer(answer([1, 2, 3]), ALL)
    live.add(away(4, 50))
    expect(behind).toHaveBeenCalledTimes(1)
    data.answer(answer([1, 2, 3, 4]), ALL)
    expect(behind).toHaveBeenCalledTimes(2)
    data.answer(answer(Array.from({ length: 50 }, (_, index) => index + 1)), ALL)
    live.add(event(51, [point(51)]))
    expect(behind).toHaveBeenCalledTimes(2)
    expect(line().columns.x).toHaveLength(51)
  })

  it("is left where nobody could see the gap, or the stream was never away", () => {
    const { live, data, behind } = open()
    data.answer(answer([1, 20_000], 20_000), ALL)
    live.add(away(20_001, 20_050))
    expect(behind).not.toHaveBeenCalled()
    live.add(event(20_150, [[20_051, 0, 0, 5, 1], [90_000, 0, 0, 6, 1]], { count: 100, sum: 1 }))
    expect(behind).not.toHaveBeenCalled()
  })
})
