import { expect, it } from "vitest"
import { withOverrides } from "./overrides"

const text = "name: digits # the small one\nstrategy: {name: adag, window: 4}\n"

it("sets values in the text and keeps its comments", () => {
  const after = withOverrides(text, ["strategy.window=8", "stop={epochs: 2}", "env.WORDS=a=b", "timeout=null"])
  expect(after).toBe("name: digits # the small one\nstrategy: {name: adag, window: 8}\nstop:\n  epochs: 2\nenv:\n  WORDS: a=b\ntimeout: null\n")
})

it("leaves the text alone that nothing was set over", () => {
  expect(withOverrides(text, [])).toBe(text)
})
