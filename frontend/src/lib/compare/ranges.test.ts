import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import { isWithin, readFieldRanges, withRange, writeFieldRanges, type FieldRange } from "./ranges"
import { runFields } from "./runs"

const job = (lr: unknown) => ({ job: makeJob(), fields: fieldsOf({ lr }), label: "a" })
const fields = runFields([job(1)], { title: "Loss", better: "lower", of: new Map() }, 0)
const kept = (lr: unknown, ...ranges: FieldRange[]) => isWithin(job(lr), ranges, fields)

it("stands in the address and comes back, whatever the field is called", () => {
  const ranges = [{ field: "strategy.lr", low: 1e-7, high: null }, { field: "a,b:c", low: -2, high: 3 }]
  expect(readFieldRanges(writeFieldRanges(ranges))).toEqual(ranges)
  expect(readFieldRanges("")).toEqual([])
  expect(readFieldRanges("lr:x~2,lr,lr:~,:1~2")).toEqual([{ field: "lr", low: null, high: 2 }])
})

it("replaces the range of a field, and a range without bounds leaves", () => {
  const one = { field: "lr", low: 1, high: 2 }
  expect(withRange([one], { ...one, low: null })).toEqual([{ field: "lr", low: null, high: 2 }])
  expect(withRange([one], { field: "lr", high: 5 })).toEqual([{ field: "lr", low: 1, high: 5 }])
  expect(withRange([], { field: "lr", high: 5 })).toEqual([{ field: "lr", low: null, high: 5 }])
  expect(withRange([one], { field: "lr", low: null, high: null })).toEqual([])
})

it("keeps jobs with a number inside, ends included, and those of an unknown field", () => {
  const range = { field: "lr", low: 1, high: 2 }
  expect([0.9, 1, 2, 2.1, null, "fast"].map((lr) => kept(lr, range))).toEqual([false, true, true, false, false, false])
  expect(kept(5, { field: "lr", low: 1, high: null })).toBe(true)
  expect(kept(5, { field: "gone", low: 1, high: 2 })).toBe(true)
})
