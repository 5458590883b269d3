import { expect, it, vi } from "vitest"
import type { DataLine } from "./chartData"
import { emptyColumns, insert, points } from "./columns"
import { MEAN, meanLines, MeanSource } from "./mean"

const line = (source: string, rank: number, values: [x: number, value: number][]): DataLine => {
  const columns = emptyColumns()
  for (const [x, value] of values) insert(columns, { x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: Number.isNaN(value) ? 1 : 0 })
  return { source, rank, columns, total: values.length, latest: values.at(-1)?.[1] ?? null }
}
const workers = [0, 1, 2, 3].map((rank) => line(`worker-${rank}`, rank, [[0, rank], [16, rank === 3 ? 90 : 6], [32, 3]]))

it("draws three workers or more as their mean and range, with every point", () => {
  const [all, ...others] = meanLines(workers, 600)
  expect(others).toEqual([])
  expect(all).toMatchObject({ label: "mean of 4 workers", index: MEAN, total: 12, latest: 3 })
  expect(all!.columns).toMatchObject({ x: [0, 16, 32], mean: [1.5, 27, 3], low: [0, 6, 3], high: [3, 90, 3], count: [4, 4, 4] })
})

it("leaves two lines, and sources of another kind, as they are", () => {
  const two = [line("worker-0", 0, [[0, 1]]), line("worker-1", 1, [[0, 2]])]
  expect(meanLines(two, 600)).toEqual(two)
  const mixed = [...workers, line("server-0", -1, [[0, 5]]), line("evaluator", -1, [[0, 7]])]
  expect(meanLines(mixed, 600).map(({ label, source }) => label ?? source)).toEqual(["mean of 4 workers", "server-0", "evaluator"])
})

it("takes so many points together that most slices have one of each worker, wherever they lie", () => {
  const apart = [0, 1, 2, 3].map((rank) => line(`worker-${rank}`, rank, Array.from({ length: 50 }, (_, step) => [step * 10 + rank * 2, rank])))
  const [all] = meanLines(apart, 600)
  expect(points(all!.columns)).toBe(200)
  expect(all!.columns.x.length).toBeLessThanOrEqual(50)
  for (const mean of all!.columns.mean.slice(0, -1)) expect(Math.abs(mean - 1.5)).toBeLessThan(0.4)
})

it("counts what is not finite, and averages the others", () => {
  const broken = [...workers.slice(1), line("worker-9", 9, [[0, NaN]])]
  expect(meanLines(broken, 600)[0]!.columns).toMatchObject({ mean: [2, 34, 3], odd: [1, 0, 0], count: [4, 3, 3] })
})

it("computes anew after a change only", () => {
  const data = { lines: workers, version: 1, subscribe: vi.fn() }
  const source = new MeanSource(data, 600)
  const before = source.lines
  expect(source.lines).toBe(before)
  data.version++
  expect(source.lines).not.toBe(before)
})
