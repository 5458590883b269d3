import { expect, it } from "vitest"
import { numericAxis, wordAxis } from "./parallel"

it("lays numbers between the least and the greatest, and those that are none nowhere", () => {
  const axis = numericAxis("lr", "lr", [0.1, null, 0.3, 0.2, NaN], String)
  expect(axis.places.map((place) => place && Number(place.toFixed(6)))).toEqual([0, null, 1, 0.5, null])
  expect(axis.texts).toEqual(["0.1", "–", "0.3", "0.2", "NaN"])
  expect(axis.ticks.map(({ at }) => at)).toEqual([0, 0.5, 1])
})

it("has a middle for what does not differ, and no tick for nothing", () => {
  expect(numericAxis("a", "a", [4, 4], String)).toMatchObject({ places: [0.5, 0.5], ticks: [{ at: 0.5, text: "4" }] })
  expect(numericAxis("a", "a", [null], String)).toMatchObject({ places: [null], ticks: [] })
  expect(wordAxis("a", "a", ["x", "x"]).places).toEqual([0.5, 0.5])
})

it("gives each word a place, as a reader would sort them, from the top", () => {
  expect(wordAxis("gate", "gate", ["ssp 10", "asp", "ssp 2"])).toMatchObject({
    places: [0, 1, 0.5], ticks: [{ at: 0, text: "ssp 10" }, { at: 0.5, text: "ssp 2" }, { at: 1, text: "asp" }],
  })
})
