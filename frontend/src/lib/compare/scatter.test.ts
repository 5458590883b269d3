import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { fieldsOf } from "./fields"
import type { Compared } from "./groups"
import { runFields } from "./runs"
import { notPlaced, scatterAxis, scatterPoints } from "./scatter"

const compared = (label: string, spec: object): Compared => ({ job: makeJob({ id: label, name: label }), fields: fieldsOf(spec), label })
const jobs = [compared("a", { lr: 0.01, gate: "asp" }), compared("b", { lr: 1, gate: "bsp" }), compared("c", { lr: 0.1 }), compared("d", { lr: 0, gate: "asp" })]
const fields = runFields(jobs, { title: "Loss", better: "lower", of: new Map() }, 0)
const axis = (key: string, log = false) => scatterAxis(fields.find((field) => field.key === key)!, jobs, log)

it("places numbers by size, or by their logarithm, which zero has none of", () => {
  expect(axis("lr").places).toEqual([0.01, 1, 0.1, 0])
  expect(axis("lr", true).places).toEqual([0, 1, 0.5, null])
  expect(axis("lr", true)).toMatchObject({ without: 0, belowZero: 1, texts: ["0.01", "1", "0.1", "0"] })
  expect(axis("lr", true).ticks.map(({ text }) => Number(text))).toEqual([0.01, 0.1, 1])
})

it("has ticks at round numbers, or at the ends where there are too few", () => {
  expect(axis("lr").ticks.map(({ at, text }) => [Number(at.toFixed(6)), text])).toEqual([[0, "0"], [0.2, "0.2"], [0.4, "0.4"], [0.6, "0.6"], [0.8, "0.8"], [1, "1"]])
  const [only] = jobs
  expect(scatterAxis(fields.find(({ key }) => key === "lr")!, [only!], false).ticks).toEqual([{ at: 0.5, text: "0.01" }])
})

it("places words beside each other", () => {
  expect(axis("gate")).toMatchObject({ places: [1, 0, null, 1], without: 1 })
})

it("has a point for each job with both values, and counts the others", () => {
  const [x, y] = [axis("lr", true), axis("gate")]
  const points = scatterPoints(jobs, x, y, new Map([["a", 4], ["b", 2]]))
  expect(points).toEqual([
    { key: "a", label: "a", index: 4, x: 0, y: 1, text: "lr 0.01, gate asp" },
    { key: "b", label: "b", index: 2, x: 1, y: 0, text: "lr 1, gate bsp" },
  ])
  expect(notPlaced([x, y])).toBe("1 job with lr at or below 0, which a log axis cannot show. 1 job without a value of gate.")
  expect(notPlaced([axis("lr")])).toBe("")
})
