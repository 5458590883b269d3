// @vitest-environment happy-dom
import type uPlot from "uplot"
import { expect, it } from "vitest"
import { axisView } from "@/lib/charts/axes"
import type { Scale } from "@/lib/charts/lines"
import { plotOptions } from "./plot"

function valuesAxis(scale: Scale, low: number, high: number): uPlot.Axis {
  const nothing = () => undefined
  const options = plotOptions({
    view: axisView("step", 0, null), scale, title: "Training loss", quantity: "loss", syncKey: "", window: () => ({ x: [0, 1], y: [low, high] }),
    draw: nothing, onCursor: nothing, onSelect: nothing, onReset: nothing,
  })
  return options.axes![1]!
}

it("has ticks for values of every size", () => {
  expect(valuesAxis("linear", 0, 3e38).incrs).toContain(5e37)
  const plot = { scales: { y: { min: 2e37, max: 3e38 } }, valToPos: (value: number) => -700 * Math.log10(value) }
  const places = (scale: Scale) => (valuesAxis(scale, -3e38, 3e38).splits as (...given: unknown[]) => number[])(plot, 1, scale === "log" ? 2e37 : -3e38, 3e38)
  expect(places("log")).toEqual([2e37, 3e37, 4e37, 5e37, 6e37, 7e37, 8e37, 9e37, 1e38, 2e38, 3e38])
  expect(places("symlog").filter((place) => Math.abs(place) >= 1e38)).toEqual([-3e38, -2e38, -1e38, 1e38, 2e38, 3e38])
})
