// @vitest-environment happy-dom
import { act, cleanup } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import { renderAt } from "@/hooks/renderAt"
import { USUAL_PANELS, withoutPanel } from "@/lib/views/comparePanels"
import { useComparison } from "./useComparison"

afterEach(cleanup)

const at = (address: string) => renderAt(address, useComparison)

it("reads everything from the address, and takes nothing that makes no sense", () => {
  const [comparison] = at("/compare?jobs=a,b,a,&metric=eval/loss&x=bytes&group=strategy.name&spread=deviation&target=0.2&reach=at_most&all=1").current.used
  expect(comparison).toMatchObject({
    jobs: ["a", "b"], metric: "eval/loss", axis: "bytes", group: "strategy.name", spread: "deviation", target: 0.2, direction: "at_most", fields: null, all: true,
  })
  expect(at("/compare?x=moon&grid=9x&smooth=many&target=soon&scale=odd&reach=up").current.used[0]).toEqual({
    jobs: [], metric: null, axis: "samples", group: null, spread: "range", smoothing: 0, scale: "linear", hidden: [], target: null, direction: null, fields: null, all: false,
    off: [], pick: null, columns: null, order: null, scatterX: null, scatterY: null, scatterLog: "", explained: null, within: [],
    panels: USUAL_PANELS, gridColumns: 1,
  })
})

it("writes only what differs from the default", () => {
  const result = at("/compare?jobs=a,b&range=1~2&hide=a")
  act(() => result.current.used[1]({ axis: "time", target: 0.9, all: true }))
  expect(result.current.search).toBe("?jobs=a%2Cb&hide=a&x=time&target=0.9&all=1")
  act(() => result.current.used[1]({ axis: "samples", target: null, all: false, group: "seed" }))
  expect(result.current.search).toBe("?jobs=a%2Cb&group=seed")
})

it("knows no field from the first that differ", () => {
  const result = at("/compare?jobs=a")
  act(() => result.current.used[1]({ fields: [] }))
  expect(result.current.used[0].fields).toEqual([])
  act(() => result.current.used[1]({ fields: null }))
  expect(result.current.used[0].fields).toBeNull()
})

it("keeps the names of lines whole, those with commas among them", () => {
  const result = at("/compare")
  act(() => result.current.used[1]({ hidden: ["betas [0.9, 0.99]", "sync"] }))
  expect(result.current.used[0].hidden).toEqual(["betas [0.9, 0.99]", "sync"])
})

it("keeps the table, the scatter plot and the ranges in the address", () => {
  const result = at("/compare?jobs=a,b")
  const chosen = {
    off: ["b"], pick: "a", columns: ["best", "strategy.lr"], order: "-best", scatterX: "strategy.lr", scatterY: "best", scatterLog: "x" as const,
    explained: "seconds", within: [{ field: "strategy.lr", low: 0.1, high: null }], panels: withoutPanel(USUAL_PANELS, "target"), gridColumns: 2,
  }
  act(() => result.current.used[1](chosen))
  expect(at(`/compare${result.current.search}`).current.used[0]).toMatchObject(chosen)
  act(() => result.current.used[1]({ off: [], pick: null, columns: null, order: null, scatterX: null, scatterY: null, scatterLog: "", explained: null, within: [], panels: USUAL_PANELS, gridColumns: 1 }))
  expect(result.current.search).toBe("?jobs=a%2Cb")
})
