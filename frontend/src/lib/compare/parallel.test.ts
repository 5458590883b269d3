import { expect, it } from "vitest"
import { draggedRange, numericAxis, rangePlaces, wordAxis } from "./parallel"

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

it("selects values between the places of a drag, and has no bound beyond an end", () => {
  const axis = numericAxis("lr", "lr", [1, 3], String)
  expect(draggedRange(axis, 0.75, 0.25)).toEqual({ low: 1.5, high: 2.5 })
  expect(draggedRange(axis, 0.5, 1.2)).toEqual({ low: 2, high: null })
  expect(draggedRange(axis, 0.5, 0.501)).toBeNull()
  expect(draggedRange(wordAxis("a", "a", ["x", "y"]), 0, 0.5)).toBeNull()
  expect(rangePlaces(axis, { low: 1.5, high: 2.5 })).toEqual([0.25, 0.75])
  expect(rangePlaces(axis, { low: -4, high: null })).toEqual([0, 1])
})
