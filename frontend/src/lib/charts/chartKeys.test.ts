import { expect, it } from "vitest"
import { movedByKey } from "./chartKeys"

const visible = { from: 0, to: 100 }

it("moves, looks closer and shows all by keys", () => {
  expect(movedByKey("ArrowRight", visible)).toEqual({ from: 20, to: 120 })
  expect(movedByKey("ArrowLeft", visible)).toEqual({ from: -20, to: 80 })
  expect(movedByKey("=", visible)).toEqual(movedByKey("+", visible))
  expect(movedByKey("+", visible)).toEqual({ from: 20, to: 80 })
  expect(movedByKey("0", visible)).toBeNull()
})

it("does nothing by other keys, and moves nothing where nothing is", () => {
  expect(movedByKey("j", visible)).toBeUndefined()
  expect(movedByKey("+", null)).toBeNull()
})
