import { expect, test } from "vitest"
import { aboutExport, binTitle, readsInstead, rowBalance, TABLE_METRICS, tableShards, reportedTables, type LatestOfTables, type TableMetric } from "./tables"

function latest(values: Partial<Record<TableMetric, [two: number, ten: number]>>): LatestOfTables {
  return new Map(TABLE_METRICS.map((name) => [name, new Map(values[name] && [["server-10", values[name][1]], ["server-2", values[name][0]]])]))
}

test("shards come by number, with the sum of their pushed keys and what is missing of their rows", () => {
  const [two, ten] = tableShards(latest({ rows: [60, 20], cold: [45, 0], made: [70, 25], evicted: [10, 4], bytes: [300, 100], applied: [5, 1], counted: [2, 0] }))
  expect(two).toMatchObject({ server: "server 2", pushed: 7, missing: 0, inMemory: 15, isBounded: true, share: 0.75, candidates: 0 })
  expect(ten).toMatchObject({ server: "server 10", pushed: 1, missing: 1, share: 0.25 })
})

test("balance is the mean number of rows over the most", () => {
  expect(rowBalance(tableShards(latest({ rows: [60, 20] })))).toBeCloseTo(40 / 60)
  expect(rowBalance(tableShards(latest({ rows: [0, 0] })))).toBeNull()
  expect(rowBalance([])).toBeNull()
})

test("tables are those with a metric of their own", () => {
  expect(reportedTables(["table/rows", "rows/user", "rows/item", "eval/rows/x"])).toEqual(["rows/item", "rows/user"])
})

test("bins are named by what they count", () => {
  expect([binTitle({ least: 0, below: 1, rows: 1 }, true), binTitle({ least: 2, below: 4, rows: 1 }, true)]).toEqual(["0", "2 to 3"])
  expect(binTitle({ least: 0.015625, below: 0.03125, rows: 1 }, false)).toBe("0.0156 to 0.0313")
  expect(binTitle({ least: 32768, below: null, rows: 1 }, true)).toBe("from 32,768")
})

test("an export tells its pass if it has one, and a key without a row what is read", () => {
  expect(aboutExport({ number: 7, version: 1200, passes: null })).toBe("Export 7: version 1,200")
  expect(aboutExport({ number: 7, version: 1200, passes: 3 })).toBe("Export 7: version 1,200, after pass 3")
  expect([readsInstead("zeros"), readsInstead(null)]).toEqual(["The model reads zeros for it.", ""])
})
