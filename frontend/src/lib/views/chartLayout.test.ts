import { expect, it } from "vitest"
import type { SavedView } from "@/client"
import { arranged, heightOf, layoutOf, moved, ownLayout, USUAL_LAYOUT, withHidden } from "./chartLayout"

const view = (over: Partial<SavedView>): SavedView => ({
  id: "1", place: "job-metrics", name: "default", owner: "ada", mine: true, shared: false, state: { height: 170 }, created_at: "", updated_at: "", ...over,
})

it("puts metrics that the layout does not name behind those that it names", () => {
  expect(arranged(["a", "b", "c"], { order: ["c", "gone", "a"] })).toEqual(["c", "a", "b"])
  expect(arranged(["a", "b"], USUAL_LAYOUT)).toEqual(["a", "b"])
})

it("moves a chart to the place of another, in both directions, and leaves other groups as they were", () => {
  const layout = { ...USUAL_LAYOUT, order: ["x", "b", "y"] }
  expect(moved(layout, ["a", "b", "c"], "a", "c").order).toEqual(["x", "y", "b", "c", "a"])
  expect(moved(layout, ["a", "b", "c"], "c", "a").order).toEqual(["x", "y", "c", "a", "b"])
  expect(moved(layout, ["a", "b", "c"], "b", "b").order).toEqual(["x", "y", "a", "b", "c"])
})

it("hides a chart once, and forgets the oldest beyond what the server keeps", () => {
  const full = { ...USUAL_LAYOUT, hidden: Array.from({ length: 500 }, (_, index) => `m${index}`) }
  expect(withHidden(full, "new").hidden).toEqual([...full.hidden.slice(1), "new"])
  expect(withHidden(full, "m3").hidden.length).toBe(500)
})

it("opens with the caller's own layout; what it lacks is as usual", () => {
  const views = [view({ name: "other" }), view({ mine: false, id: "2" }), view({ id: "3", state: { columns: 2, height: 170 } })]
  expect(layoutOf(ownLayout(views))).toEqual({ ...USUAL_LAYOUT, columns: 2 })
  expect(layoutOf(ownLayout([]))).toEqual(USUAL_LAYOUT)
  expect(layoutOf(view({ state: { query: "q=1" } }))).toEqual(USUAL_LAYOUT)
})

it("keeps the height of charts within its bounds", () => {
  expect([13, 204, 5000].map(heightOf)).toEqual([100, 200, 800])
})
