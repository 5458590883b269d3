import { expect, it } from "vitest"
import { numberOrText, readScalar, writeScalar } from "./scalar"

it.each([["256", 256], ["0.5", 0.5], ["true", true], ["/data/mnist", "/data/mnist"], ['"256"', "256"], ["[1, 2]", [1, 2]], ["", ""], ["[1,", "[1,"]])(
  "reads %s",
  (text, value) => expect(readScalar(text)).toEqual(value),
)

it.each([[256], ["256"], ["/data"], [true], [[1, 2]], [""]])("writes %j so that it is read as the same", (value) => {
  expect(readScalar(writeScalar(value))).toEqual(value)
})

it.each([["0.001", 0.001], ["0.", 0], ["1e-3", 0.001], ["uniform", "uniform"], ["30s", "30s"], ["", undefined]])("takes %s for a number or text", (text, value) => {
  expect(numberOrText(text)).toBe(value)
})
