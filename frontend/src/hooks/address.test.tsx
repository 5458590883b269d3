// @vitest-environment happy-dom
import { act, cleanup } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import { toggled, useChartSettings } from "./charts/useChartSettings"
import { useComparison } from "./compare/useComparison"
import { useLogFilter } from "./job/useLogFilter"
import { useJobFilters } from "./jobs/useJobFilters"
import { renderAt as at } from "./renderAt"

afterEach(cleanup)

it("reads how charts are drawn from the address, and takes nothing that makes no sense", () => {
  const shared = "/?x=time&smooth=0.6&log=train/loss&range=3~7.5&hide=worker 0,worker 2&full=train/loss"
  expect(at(shared, useChartSettings).current.used[0]).toMatchObject({
    axis: "time", smoothing: 0.6, log: ["train/loss"], range: { from: 3, to: 7.5 }, hidden: ["worker 0", "worker 2"], full: "train/loss",
  })
  expect(at("/?x=moon&smooth=7&range=7~3", useChartSettings).current.used[0]).toMatchObject({ axis: "samples", smoothing: 0.99, log: [], range: null, full: null })
})

it("writes only what differs from the default, and keeps what others have put there", () => {
  const result = at("/?metric=push/norm", useChartSettings)
  act(() => result.current.used[1]({ axis: "version", log: ["train/loss"] }))
  expect(result.current.search).toBe("?metric=push%2Fnorm&x=version&log=train%2Floss")
  act(() => result.current.used[1]({ axis: "samples", log: [] }))
  expect(result.current.search).toBe("?metric=push%2Fnorm")
})

it("shows all when another axis makes a range mean something else", () => {
  const result = at("/?x=step&range=3~7", useChartSettings)
  act(() => result.current.used[1]({ axis: "version" }))
  expect(result.current.search).toBe("?x=version")
  const time = at("/?x=time&range=3~7", useChartSettings)
  act(() => time.current.used[1]({ axis: "wall" }))
  expect(new URLSearchParams(time.current.search).get("range")).toBe("3~7")
})

it("undoes no change that was made a moment before, by another part of the page", () => {
  const useBoth = () => ({ one: useChartSettings()[1], other: useChartSettings()[1] })
  const result = at("/?x=step", useBoth)
  act(() => {
    result.current.used.one({ log: ["train/loss"] })
    result.current.used.other({ smoothing: 0.5 })
  })
  expect(result.current.search).toBe("?x=step&log=train%2Floss&smooth=0.5")
})

it("undoes no change that the page does not show yet", () => {
  const result = at("/?x=epoch", useChartSettings)
  const before = result.current.used[1]
  act(() => before({ log: ["train/loss"] }))
  const shown = result.current.used[1]
  act(() => {
    before({ smoothing: 0.5 })
    shown({ search: "loss" })
  })
  expect(result.current.search).toBe("?x=epoch&log=train%2Floss&smooth=0.5&q=loss")
})

it("keeps both of two quick changes of one list", () => {
  const usePins = () => {
    const [, change] = useChartSettings()
    return (name: string) => change((now) => ({ pinned: toggled(now.pinned, name) }))
  }
  const pins = at("/?pin=push/norm", usePins)
  act(() => {
    pins.current.used("train/loss")
    pins.current.used("push/norm")
    pins.current.used("eval/loss")
  })
  expect(new URLSearchParams(pins.current.search).get("pin")).toBe("train/loss,eval/loss")
  const jobs = at("/compare?jobs=a,b,c", () => useComparison()[1])
  act(() => {
    for (const gone of ["a", "c"]) jobs.current.used((now) => ({ jobs: now.jobs.filter((id) => id !== gone) }))
  })
  expect(jobs.current.search).toBe("?jobs=b")
})

it("filters logs without undoing what was selected while somebody typed", () => {
  const useBoth = () => ({ one: useLogFilter()[1], other: useLogFilter()[1] })
  const result = at("/?role=worker", useBoth)
  act(() => {
    result.current.used.one({ regex: true })
    result.current.used.other({ text: "^step" })
  })
  expect(result.current.search).toBe("?role=worker&regex=1&text=%5Estep")
})

it("keeps the filters of the list in the address", () => {
  const result = at("/?status=failed&status=moonstruck", useJobFilters)
  expect(result.current.used[0]).toMatchObject({ status: ["failed"], strategy: [], q: "" })
  act(() => result.current.used[1]({ q: "digits", status: ["failed", "running"] }))
  expect(new URLSearchParams(result.current.search).getAll("status")).toEqual(["failed", "running"])
  expect(result.current.used[0].q).toBe("digits")
})
