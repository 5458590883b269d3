// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import { keyMap } from "@/lib/browser/keys"
import { useRowKeys } from "./useRowKeys"
import { useSelection } from "./useSelection"

afterEach(cleanup)

const order = ["a", "b", "c", "d", "e"]

it("selects one by one, and all between two", () => {
  const { result } = renderHook(() => useSelection(order))
  const ids = () => [...result.current.ids].sort().join("")
  act(() => result.current.toggle("b"))
  act(() => result.current.toggle("d", true))
  expect(ids()).toBe("bcd")
  act(() => result.current.toggle("c"))
  expect(ids()).toBe("bd")
  act(() => result.current.drop(new Set(["b", "x"])))
  expect(ids()).toBe("d")
  act(() => result.current.all(true))
  expect(ids()).toBe("abcde")
})

it("moves over rows by letters, and acts on the one where it is", () => {
  const did: string[] = []
  const options = { ids: ["a", "b", "c"], before: null, open: (at: number) => did.push(`open ${at}`), select: (at: number) => did.push(`select ${at}`), clear: () => did.push("clear") }
  const { result, rerender, unmount } = renderHook((props) => useRowKeys(props), { initialProps: options })
  const press = (key: string) => act(() => void keyMap.press(new KeyboardEvent("keydown", { key })))
  press("Enter")
  expect(result.current.active).toBeNull()
  for (const key of ["j", "j", " ", "j", "j", "Enter", "k", "x", "Escape"]) press(key)
  expect(did).toEqual(["select 1", "open 2", "select 1", "clear"])
  rerender({ ...options, ids: ["new", "a", "b", "c"] })
  expect(result.current).toMatchObject({ active: 2, activeId: "b" })
  rerender({ ...options, ids: ["a", "c"] })
  expect(result.current).toMatchObject({ active: 1, activeId: "c" })
  rerender({ ...options, ids: ["a"] })
  expect(result.current).toMatchObject({ active: 0, activeId: "a" })
  rerender({ ...options, ids: [] })
  expect(result.current).toMatchObject({ active: null, activeId: null })
  unmount()
  expect(keyMap.all()).toEqual([])
})

it("begins at the row where one was, wherever it stands now", () => {
  const options = { before: "b", open: () => undefined, select: () => undefined, clear: () => undefined }
  const { result, rerender } = renderHook((ids: string[]) => useRowKeys({ ...options, ids }), { initialProps: [] as string[] })
  expect(result.current.active).toBeNull()
  rerender(["c", "a", "b"])
  expect(result.current.active).toBe(2)
})
