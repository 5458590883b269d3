import { expect, it } from "vitest"
import { axisTitle, sayValue, valueUnit, writeTick, writeValue } from "./units"

it.each([
  ["s", 0.07, 0.0004, "0.4 ms", "0.4 ms", "Wait time, ms"],
  ["s", 3, 0.0004, "4.0e-4 s", "4.0e-4 s", "Wait time, s"],
  ["bytes", 345_000_000, 348_000_000, "348 MB", "348 MB", "Wait time, MB"],
  ["share", 0.98, 0.98, "98 %", "98 %", "Wait time, %"],
  ["share", 97.2, 97.2, "97.2", "97.2", "Wait time"],
  ["cores", 2.5, 0.0146, "1.46 %", "1.46 %", "Wait time, %"],
  ["updates", 50, 6.25, "6.25", "6.25 updates", "Wait time, updates"],
  ["loss", 2, 0.5, "0.5", "0.5", "Wait time"],
  ["1", 2, 0.5, "0.5", "0.5", "Wait time"],
])("writes in %s, where %s is the largest, the value %s as %s", (quantity, largest, value, written, said, title) => {
  const unit = valueUnit(quantity, largest)
  expect([writeValue(value, unit), sayValue(value, unit), axisTitle("Wait time", unit)]).toEqual([written, said, title])
})

it("writes ticks in the unit of the legend", () => {
  const unit = valueUnit("s", 0.06)
  expect([0, 0.02, 0.04].map((tick) => writeTick(tick, 0.02, unit))).toEqual(["0", "20", "40"])
  expect([0.001, 0.1].map((tick) => writeTick(tick, null, unit))).toEqual(["1", "100"])
  expect([1e26, 1e-7, 0.5].map((tick) => writeTick(tick, null, valueUnit("loss", 1)))).toEqual(["1e26", "1e-7", "0.5"])
})

it("has no unit for what is not finite, and says – for nothing", () => {
  expect([NaN, Infinity, null].map((value) => writeValue(value, valueUnit("s", 1)))).toEqual(["NaN", "∞", "–"])
})
