import { expect, it } from "vitest"
import { emptyColumns, insert, type Columns } from "@/lib/charts/columns"
import { sentUntil, valueAt } from "./bytes"

function columns(...values: [x: number, mean: number, count: number, odd?: number][]): Columns {
  const made = emptyColumns()
  for (const [x, mean, count, odd = 0] of values) insert(made, { x, first: mean, low: mean, high: mean, last: mean, mean, count, odd })
  return made
}

it("adds what all workers sent, exactly at the edges of the slices", () => {
  const sliced = { from: 100, to: 104, width: 4 }
  const sent = sentUntil([{ ...sliced, columns: columns([100.5, 10, 2], [103, 5, 1]) }, { ...sliced, columns: columns([100, 1, 3], [104, 7, 2, 1]) }])
  expect(sent).toEqual({ x: [100, 101, 102, 103, 104], y: [0, 23, 23, 23, 35] })
  expect([99, 100, 100.5, 102, 103.5, 104, 200].map((at) => valueAt(sent, at))).toEqual([0, 0, 11.5, 23, 29, 35, 35])
})

it("knows nothing of a job that has sent nothing, and counts a single moment", () => {
  expect(valueAt(sentUntil([]), 5)).toBe(0)
  expect(valueAt(sentUntil([{ from: 7, to: 7, width: 3, columns: columns([7, 4, 2]) }]), 10)).toBe(8)
})
