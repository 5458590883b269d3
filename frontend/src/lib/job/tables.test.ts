import { expect, test } from "vitest"
import { rowBalance, TABLE_METRICS, tableShards, reportedTables, type LatestOfTables, type TableMetric } from "./tables"

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
