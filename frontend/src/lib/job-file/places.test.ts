import { expect, it } from "vitest"
import { linesOf, spanOf } from "./places"

const text = `# a job
name: digits
strategy: {name: adag, windw: 4}
roles:
  worker:
    count: 2
env:
  "A/B": x
list: [1,
  2]
`

it("finds the line of a key, in block and in flow style, and with escapes", () => {
  const found = linesOf(text, ["/name", "/strategy/windw", "/roles/worker/count", "/env/A~1B", "/list/1"])
  expect([...found.values()]).toEqual([2, 3, 6, 8, 10])
})

it("names what a missing key would stand in, and no line for the whole file", () => {
  const found = linesOf(text, ["/roles/worker/device", "/strategy/lr", "/stop", ""])
  expect([...found.values()]).toEqual([5, 3, null, null])
})

it("survives text that cannot be read", () => {
  expect(linesOf("name: [", ["/name", "/stop"]).get("/stop")).toBe(null)
})

it("knows where a line begins and ends", () => {
  const [start, end] = spanOf(text, 2)
  expect(text.slice(start, end)).toBe("name: digits")
})
