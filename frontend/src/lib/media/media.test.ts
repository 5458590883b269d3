import { expect, test } from "vitest"
import { binned, csvOf, mediaSource, mediaSourceInText, placeOf, sortRows, sourcesOf } from "./media"

test("items say who has logged them and where in the training", () => {
  expect(sourcesOf({ ranks: [-1, 10, 2] }).map(mediaSource)).toEqual(["worker 2", "worker 10", "evaluator"])
  expect(placeOf({ rank: 1, step: 1200, samples: 9600, version: 7 })).toBe("Step 1,200, version 7, 9,600 samples")
  expect(placeOf({ rank: -1, step: 7, samples: 9600, version: 7 })).toBe("Version 7, 9,600 samples")
})

test("rows are sorted by a column, numbers before text and empty cells last", () => {
  const rows = [["b"], [10], [null], ["a"], [9]]
  expect(sortRows(rows, 0, false).flat()).toEqual([9, 10, "a", "b", null])
  expect(sortRows(rows, 0, true).flat()).toEqual(["b", "a", 10, 9, null])
})

test("a spreadsheet computes nothing of a table's CSV", () => {
  expect(csvOf({ columns: ["a,b", "=n"], rows: [['say "hi"', -1], ["=1+1", null]] })).toBe('"a,b",\'=n\r\n"say ""hi""",-1\r\n\'=1+1,\r\n')
})

test("histograms with bins of their own are drawn on common ones, and nothing is lost", () => {
  const found = binned([{ edges: [0, 2, 4], counts: [3, 1] }, { edges: [2, 6], counts: [8] }, { edges: [1, 1], counts: [5] }], 6)!
  expect([found.low, found.high]).toEqual([0, 6])
  expect(found.shares[0]).toEqual([0.375, 0.375, 0.125, 0.125, 0, 0])
  expect(found.shares[1]).toEqual([0, 0, 0.25, 0.25, 0.25, 0.25])
  expect(found.shares[2]).toEqual([0, 1, 0, 0, 0, 0])
  expect(found.highest).toBe(1)
})

test("equal values have a range, and no values have none", () => {
  expect(binned([{ edges: [3, 3], counts: [2] }], 3)!.shares).toEqual([[0, 1, 0]])
  expect(binned([{ edges: [], counts: [] }], 3)).toBeNull()
})

test("names the process that has logged an item within a sentence", () => {
  expect([-1, 3].map(mediaSourceInText)).toEqual(["the evaluator", "worker 3"])
})
