import { expect, it } from "vitest"
import { measureOf, MEASURES, said } from "./stale"

it.each([["versions", "3.5 updates"], ["seconds", "3.5 s"], ["distance", "3.5"]] as const)("says in %s %s", (name, text) => {
  expect(said(MEASURES[name], 3.5)).toBe(text)
})

it("writes short times in their units", () => {
  expect(said(MEASURES.seconds, 0.0042)).toBe("4.2 ms")
})

it("knows a measure by what stands in the address", () => {
  expect(["seconds", "distance", "versions", "miles", null].map(measureOf)).toEqual(["seconds", "distance", "versions", "versions", "versions"])
})
