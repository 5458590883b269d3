import { describe, expect, test } from "vitest"
import type { JobExport } from "@/client"
import type { DataLine } from "@/lib/charts/chartData"
import { emptyColumns } from "@/lib/charts/columns"
import { closedPasses, examplesBehind, newestPass } from "./passes"

function line(values: Record<number, number>, latest: number | null = null): DataLine {
  const columns = { ...emptyColumns(), x: Object.keys(values).map(Number), last: Object.values(values) }
  return { source: "server-0", rank: -1, columns, total: columns.x.length, latest }
}

const exported = (number: number, passes: number | null) => ({ number, passes }) as JobExport

describe("closed passes", () => {
  const lines = new Map([
    ["auc", [line({ 0: 0.6, 2: 0.8 })]],
    ["log_loss", [line({ 0: 0.5, 1: 0.4, 2: 0.3 })]],
  ] as const)

  test("come newest first, with the exports that were made at their ends", () => {
    const found = closedPasses(lines, [exported(9, 3), exported(8, 3), exported(7, 1), exported(6, null)], 10)
    expect(found.map(({ number, auc, log_loss, calibration }) => [number, auc, log_loss, calibration])).toEqual([
      [2, 0.8, 0.3, null],
      [1, null, 0.4, null],
      [0, 0.6, 0.5, null],
    ])
    expect(found.map(({ exports }) => exports.map(({ number }) => number))).toEqual([[9, 8], [], [7]])
  })

  test("are bounded", () => expect(closedPasses(lines, [], 2).map(({ number }) => number)).toEqual([2, 1]))
})

test("the newest pass is the last of all sources", () => {
  expect(newestPass([])).toBeNull()
  expect(newestPass([line({ 0: 1, 3: 1 }), line({ 1: 1 })])).toBe(3)
})

test("examples behind are those of all workers", () => {
  expect(examplesBehind([])).toBeNull()
  expect(examplesBehind([line({}, 3), line({}, null), line({}, 4)])).toBe(7)
})
