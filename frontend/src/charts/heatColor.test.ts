import { expect, it } from "vitest"
import { heatColor } from "./heatColor"

it("goes from the card's lightness to the other end, without a step back", () => {
  const lightness = (scheme: "light" | "dark") =>
    Array.from({ length: 21 }, (_, step) => heatColor(step / 20, scheme).match(/\d+/g)!.map(Number)).map(([r, g, b]) => 0.2126 * r! + 0.7152 * g! + 0.0722 * b!)
  const light = lightness("light")
  const dark = lightness("dark")
  expect(light).toEqual(light.toSorted((a, b) => b - a))
  expect(dark).toEqual(dark.toSorted((a, b) => a - b))
})
