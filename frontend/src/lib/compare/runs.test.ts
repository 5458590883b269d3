import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import type { Compared } from "./groups"
import { runFields, sortedRuns, tableFields, valueText } from "./runs"

const compared = (label: string, spec: object): Compared => ({ job: makeJob({ id: label, name: label }), fields: fieldsOf(spec), label })
const jobs = [
  compared("a", { strategy: { name: "sync", lr: 0.1 } }),
  compared("b", { strategy: { name: "async", lr: 0.02 } }),
  compared("c", { strategy: { name: "async" } }),
]
const of = new Map([["a", { last: 3, low: 1, high: 9 }], ["b", { last: 2, low: 2, high: 8 }], ["c", { last: NaN, low: null, high: null }]])
const fields = (better: "higher" | "lower" | "neither") => runFields(jobs, { title: "Eval loss", better, of }, 0)
const find = (key: string, better: "higher" | "lower" = "lower") => fields(better).find((field) => field.key === key)!
const order = (key: string, descending: boolean) => sortedRuns(jobs, find(key), descending).map(({ label }) => label).join("")

it("has the best value from the side that is better, and none where no side is", () => {
  expect(jobs.map((job) => valueText(find("best"), job))).toEqual(["1.00", "2.00", "–"])
  expect(jobs.map((job) => valueText(find("best", "higher"), job))).toEqual(["9.00", "8.00", "–"])
  expect(find("last").label).toBe("Last eval loss")
  expect(fields("neither").some(({ key }) => key === "best")).toBe(false)
  const shares = runFields(jobs, { title: "Eval accuracy", better: "higher", isShare: true, of: new Map([["a", { last: 0.147, low: 0.1, high: 0.9 }]]) }, 0)
  expect(shares.slice(0, 2).map((field) => valueText(field, jobs[0]!))).toEqual(["14.7 %", "90.0 %"])
})

it("sorts by any field, jobs without a value last both ways, equal ones in their order", () => {
  expect(order("strategy.lr", false)).toBe("bac")
  expect(order("strategy.lr", true)).toBe("abc")
  expect(order("last", false)).toBe("bac")
  expect(order("strategy.name", false)).toBe("bca")
  expect(sortedRuns(jobs, null, true)).toEqual(jobs)
})

it("has the selected columns, or those that tell most, and leaves unknown ones out", () => {
  const keys = (selected: string[] | null) => tableFields(fields("lower"), selected, ["strategy.name", "strategy.lr", "seed"]).map(({ key }) => key)
  expect(keys(null)).toEqual(["last", "best", "strategy.name", "strategy.lr"])
  expect(keys(["samples", "gone"])).toEqual(["samples"])
  expect(keys([])).toEqual([])
})
