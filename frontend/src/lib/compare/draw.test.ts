import { expect, it } from "vitest"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { makeJob } from "@/lib/testing"
import { linesOf, type JobColumns } from "./draw"
import { groupBy, type Compared } from "./groups"

const compared = (label: string, strategy: string): Compared => ({ job: makeJob({ name: label }), fields: new Map([["strategy.name", strategy]]), label })
const jobs = [compared("a", "sync"), compared("b", "sync"), compared("c", "easgd")]

function measured(...values: [x: number, value: number][]): JobColumns {
  const columns = emptyColumns()
  for (const [x, value] of values) insert(columns, { x, first: value, low: value, high: value, last: value, mean: value, count: 1, odd: 0 })
  return { columns, total: values.length, latest: values.at(-1)?.[1] ?? null }
}

it("says of a group the mean of what its jobs had last, wherever each of them ended", () => {
  const ended = new Map([["a", measured([0, 1], [2, 7])], ["b", measured([0, 3], [4, 5])], ["c", measured()]])
  expect(linesOf(groupBy(jobs, "strategy.name"), ({ label }) => ended.get(label)!, how)[0]!.latest).toBe(6)
})

const found = new Map([["a", measured([0, 1], [4, 3])], ["b", measured([0, 3], [4, 5])], ["c", measured()]])
const how = { smoothing: 0, spread: "range", places: 3 } as const

it("draws each job as it was measured, and those without a value not at all", () => {
  const lines = linesOf(groupBy(jobs, null), ({ label }) => found.get(label)!, how)
  expect(lines.map(({ label, index, total, latest, spread }) => ({ label, index, total, latest, spread }))).toEqual([
    { label: "a", index: 5, total: 2, latest: 3, spread: undefined },
    { label: "b", index: 6, total: 2, latest: 5, spread: undefined },
  ])
  expect(lines[0]!.columns).toBe(found.get("a")!.columns)
})

it("draws a group as mean and spread, in the place that it has with all groups there", () => {
  const lines = linesOf(groupBy(jobs, "strategy.name"), ({ label }) => found.get(label)!, how)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ label: "sync", index: 0, total: 4, latest: 4, spread: true, columns: { x: [0, 2, 4], mean: [2, 3, 4], low: [1, 2, 3], high: [3, 4, 5] } })
})
