import { expect, it } from "vitest"
import { STEPS, stepOf } from "./stops"

it("finds the step that an address names, and none for another word", () => {
  expect(STEPS.map(({ stop }) => stepOf(stop))).toEqual(STEPS.map((_, number) => number))
  expect(stepOf("elsewhere")).toBeNull()
  expect(stepOf(null)).toBeNull()
})
