// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react"
import { afterEach, expect, it, vi } from "vitest"
import { useTyped } from "./useTyped"

afterEach(cleanup)

it("shows letters at once and keeps them in a pause, once", () => {
  vi.useFakeTimers()
  const kept: string[] = []
  const { result, rerender } = renderHook(({ value }) => useTyped(value, (text) => kept.push(text)), { initialProps: { value: "" } })
  for (const text of ["d", "di", "dig"]) act(() => result.current[1](text))
  expect([result.current[0], kept]).toEqual(["dig", []])
  act(() => void vi.advanceTimersByTime(300))
  expect(kept).toEqual(["dig"])
  act(() => result.current[1]("digi"))
  rerender({ value: "dig" }) // what was kept arrives late: it takes no letter away
  expect(result.current[0]).toBe("digi")
  act(() => void vi.advanceTimersByTime(300))
  rerender({ value: "from a saved filter" })
  expect(result.current[0]).toBe("from a saved filter")
  vi.useRealTimers()
})

it("follows one who goes back and forward again", () => {
  vi.useFakeTimers()
  const { result, rerender } = renderHook(({ value }) => useTyped(value, () => undefined), { initialProps: { value: "" } })
  act(() => result.current[1]("wait"))
  act(() => void vi.advanceTimersByTime(300))
  const shown = ["wait", "", "wait"].map((value) => {
    rerender({ value })
    return result.current[0]
  })
  expect(shown).toEqual(["wait", "", "wait"])
  vi.useRealTimers()
})
