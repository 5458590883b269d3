import { expect, it } from "vitest"
import { axisView } from "@/lib/charts/axes"
import { emptyColumns, insert } from "@/lib/charts/columns"
import { toLines } from "@/lib/charts/lines"
import type { Picture } from "./picture"
import { windowOf } from "./window"

const until = (last: number, value = 1, range: Picture["range"] = null): Picture => {
  const columns = emptyColumns()
  for (let x = 0; x <= last; x++) {
    const y = x === last ? value : x % 2
    insert(columns, { x, first: y, low: y, high: y, last: y, mean: y, count: 1, odd: 0 })
  }
  const lines = toLines([{ source: "worker-0", rank: 0, columns, total: last + 1, latest: value }], 0)
  return { lines, view: axisView("step", 0, null), title: "", quantity: "", range, scale: "linear", threshold: null, scheme: "light" }
}

it("shows from the first point to the last, and their extremes", () => {
  expect(windowOf(until(320, 7))).toEqual({ x: [0, 320], y: [0, 7] })
})

it("leaves a margin when points come, so that the next ones move nothing", () => {
  const first = windowOf(until(319))
  const grown = windowOf(until(320), first)
  expect(grown.x).toEqual([0, 330])
  for (let last = 321; last <= 330; last++) expect(windowOf(until(last), grown)).toBe(grown)
  expect(windowOf(until(331), grown).x[1]).toBeGreaterThan(340)
})

it("never lets what is new lie outside", () => {
  let window = windowOf(until(1))
  for (let last = 2; last <= 500; last++) {
    window = windowOf(until(last), window)
    expect(window.x[1]).toBeGreaterThanOrEqual(last)
    expect(window.x[1] - last).toBeLessThanOrEqual(last / 32)
  }
})

it("stays as it is for values in the air around the others", () => {
  const grown = windowOf(until(320), windowOf(until(319)))
  expect(windowOf(until(321, 1.05), grown)).toBe(grown)
  expect(windowOf(until(321, 1.05))).toEqual({ x: [0, 321], y: [0, 1.05] })
})

it("is another one when an extreme comes, when less is there than before, and when a range is selected", () => {
  const grown = windowOf(until(320), windowOf(until(319)))
  expect(windowOf(until(321, 9), grown)).toEqual({ x: grown.x, y: [0, 9] })
  expect(windowOf(until(200), grown).x).toEqual([0, 200])
  expect(windowOf(until(321, 1, { from: 10, to: 20 }), grown).x).toEqual([10, 20])
})
