// @vitest-environment happy-dom
import { act, cleanup, renderHook } from "@testing-library/react"
import { afterEach, expect, it } from "vitest"
import { keyMap } from "@/lib/browser/keys"
import { useKeys } from "./useKeys"

afterEach(cleanup)

const press = (key: string) => keyMap.press(new KeyboardEvent("keydown", { key }))

it("keeps the place of keys that are written anew in every render, and runs the latest", () => {
  const did: string[] = []
  const one = renderHook(({ to }) => useKeys("One", [{ keys: ["a"], label: "go", run: () => did.push(to) }]), { initialProps: { to: "first" } })
  renderHook(() => useKeys("Other", [{ keys: ["b"], label: "stay", run: () => undefined }]))
  const before = keyMap.all()
  one.rerender({ to: "second" })
  expect(keyMap.all()).toBe(before)
  expect(before.map(({ title }) => title)).toEqual(["One", "Other"])
  act(() => void press("a"))
  expect(did).toEqual(["second"])
})

it("lists other keys once they are others, and none when their owner is gone", () => {
  const { rerender, unmount } = renderHook(({ key }) => useKeys("Moving", [{ keys: [key], label: "go" }]), { initialProps: { key: "a" } })
  const keys = () => keyMap.all().flatMap(({ title, bindings }) => (title === "Moving" ? bindings.flatMap(({ keys }) => keys) : []))
  rerender({ key: "z" })
  expect(keys()).toEqual(["z"])
  unmount()
  expect(keys()).toEqual([])
})
