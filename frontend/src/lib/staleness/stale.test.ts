import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { measureOf, MEASURES, neverStale, said } from "./stale"

it.each([["versions", "3.5 updates"], ["seconds", "3.5 s"], ["distance", "3.5"]] as const)("says in %s %s", (name, text) => {
  expect(said(MEASURES[name], 3.5)).toBe(text)
})

it("writes short times in their units", () => {
  expect(said(MEASURES.seconds, 0.0042)).toBe("4.2 ms")
})

it("knows a measure by what stands in the address", () => {
  expect(["seconds", "distance", "versions", "miles", null].map(measureOf)).toEqual(["seconds", "distance", "versions", "versions", "versions"])
})

it("says why no push is stale in a job whose nature it is, and leaves out all others", () => {
  const job = (workers: number, gate: string, mean_staleness: number | null) => neverStale({ ...makeJob({ workers, gate }), progress: { ...makeJob().progress, mean_staleness } })
  expect(job(1, "asp", 0)).toContain("with one worker")
  expect(job(4, "bsp", 0)).toContain("under bsp")
  expect([job(4, "asp", 0), job(4, "bsp", 0.5), job(4, "bsp", null)]).toEqual([null, null, null])
})
