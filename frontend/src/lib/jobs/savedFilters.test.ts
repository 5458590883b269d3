import { expect, it } from "vitest"
import { readSaved, withSaved } from "./savedFilters"

it("reads what the browser has kept, whatever that is", () => {
  expect(readSaved(null)).toEqual([])
  expect(readSaved("{broken")).toEqual([])
  expect(readSaved('{"name": "a"}')).toEqual([])
  expect(readSaved('[{"name": "a", "search": "q=x"}, {"name": 1}, null]')).toEqual([{ name: "a", search: "q=x" }])
})

it("keeps one of each name, in order", () => {
  const saved = withSaved(withSaved([], { name: "b", search: "q=1" }), { name: "a", search: "" })
  expect(withSaved(saved, { name: "b", search: "q=2" })).toEqual([{ name: "a", search: "" }, { name: "b", search: "q=2" }])
})
