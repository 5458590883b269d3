import { expect, it } from "vitest"
import { emptyColumns, insert } from "./columns"
import { hoveredAt } from "./hover"
import { toLines } from "./lines"

/** A pixel for each unit of x; values upwards from the bottom at 200. */
const SCALES = { x: (x: number) => x, y: (value: number) => 200 - value }

function line(source: string, rank: number, given: [x: number, low: number, mean: number, high: number, count?: number][]) {
  const columns = emptyColumns()
  for (const [x, low, mean, high, count = 1] of given) insert(columns, { x, first: low, low, high, last: mean, mean, count, odd: 0 })
  return { source, rank, columns, total: given.length, latest: null }
}

const flat = line("worker-0", 0, Array.from({ length: 50 }, (_, x) => [x, 1, 1.1, x === 20 ? 100 : 1.2, 90]))
const far = line("worker-1", 1, [[0, 50, 50, 50], [300, 60, 60, 60]])
const lines = toLines([flat, far], 0)
const at = (left: number, value: number) => hoveredAt(lines, SCALES, left, 200 - value, left)

it("reads the spike that one points at, also from some pixels beside it", () => {
  for (const left of [17, 20, 23]) {
    expect(at(left, 90)[0]).toMatchObject({ line: { label: "worker 0" }, column: { x: 20, low: 1, mean: 1.1, high: 100, count: 90 } })
  }
})

it("reads what is under the pointer where all are as near", () => {
  expect(at(23, 1.1)[0]!.column.x).toBe(23)
  expect(at(30, 20)[0]!.column.x).toBe(30)
})

it("puts the line that one points at first, and tells of the others where they are nearest", () => {
  const [first, second] = at(2, 50)
  expect(first).toMatchObject({ line: { label: "worker 1" }, column: { x: 0 }, away: 2 })
  expect(second).toMatchObject({ line: { label: "worker 0" }, column: { x: 2 } })
})

it("has nothing of a line without columns", () => {
  expect(hoveredAt(toLines([line("worker-0", 0, [])], 0), SCALES, 5, 5, 5)).toEqual([])
})
