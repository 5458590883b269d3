// @vitest-environment happy-dom
import { afterEach, expect, it } from "vitest"
import { keep, readKept } from "./kept"

afterEach(() => localStorage.clear())

it("keeps what was typed apart for each beginning, until it is forgotten", () => {
  const code = { hash: "0".repeat(64), origin: "3 uploaded files", files: [{ path: "a.py", size: 1 }] }
  keep("a", { text: "name: a", code })
  keep("b", { text: "name: b", code: null })
  expect(readKept("a")).toEqual({ text: "name: a", code })
  keep("a", null)
  expect(readKept("a")).toBe(null)
  expect(readKept("b")?.text).toBe("name: b")
  keep("b", { text: "name: b", code: null, chosen: 3 })
  expect(readKept("b")?.chosen).toBe(3)
})

it("takes what it does not understand for nothing", () => {
  localStorage.setItem("gradstream.new-job:a", "{oh")
  expect(readKept("a")).toBe(null)
  localStorage.setItem("gradstream.new-job:a", "[1]")
  expect(readKept("a")).toBe(null)
})
