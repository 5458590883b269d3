import { expect, it } from "vitest"
import { readScalar, writeScalar } from "./scalar"

it.each([["256", 256], ["0.5", 0.5], ["true", true], ["/data/mnist", "/data/mnist"], ['"256"', "256"], ["[1, 2]", [1, 2]], ["", ""], ["[1,", "[1,"]])(
  "reads %s",
  (text, value) => expect(readScalar(text)).toEqual(value),
)

it.each([[256], ["256"], ["/data"], [true], [[1, 2]], [""]])("writes %j so that it is read as the same", (value) => {
  expect(readScalar(writeScalar(value))).toEqual(value)
})
