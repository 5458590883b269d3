import { describe, expect, it } from "vitest"
import { getIn, pointer, readDraft, setInDraft } from "./draft"

const text = "name: digits # the small one\nstrategy: {name: adag, window: 4}\ngate: asp\n"

describe("readDraft", () => {
  it("reads what the text says", () => {
    expect(readDraft(text).value).toMatchObject({ name: "digits", strategy: { name: "adag", window: 4 } })
  })

  it.each([["gate: bsp", { mode: "bsp" }], ["gate: {ssp: 3}", { mode: "ssp", bound: 3 }], ["gate: {mode: bsp, quorum: 2}", { mode: "bsp", quorum: 2 }]])(
    "reads %s in full",
    (line, gate) => expect(readDraft(line).value.gate).toEqual(gate),
  )

  it("keeps the last value while the text cannot be read, and says why", () => {
    const broken = readDraft("name: [", readDraft(text))
    expect(broken.value.name).toBe("digits")
    expect(broken.error).toBeTruthy()
    expect(readDraft("name: a\nstop: [").errorLine).toBe(2)
    expect(readDraft("- a\n- b").error).toMatch(/keys/)
  })

  it("takes no text as no keys", () => {
    expect(readDraft("")).toEqual({ text: "", value: {}, error: null, errorLine: null })
  })
})

describe("setInDraft", () => {
  it("changes one value and keeps comments and order", () => {
    const after = setInDraft(readDraft(text), ["strategy", "window"], 8)
    expect(after.text).toBe("name: digits # the small one\nstrategy: {name: adag, window: 8}\ngate: asp\n")
  })

  it("makes the maps on the way", () => {
    expect(setInDraft(readDraft(""), ["roles", "worker", "count"], 2).value).toEqual({ roles: { worker: { count: 2 } } })
  })

  it("changes one item of a list and keeps the comments of the others", () => {
    const list = "groups:\n  - match: a # first\n  - match: b\n"
    expect(setInDraft(readDraft(list), ["groups", 1, "factor"], 2).text).toBe("groups:\n  - match: a # first\n  - match: b\n    factor: 2\n")
  })

  it("removes a value", () => {
    expect(setInDraft(readDraft(text), ["strategy", "window"], undefined).value.strategy).toEqual({ name: "adag" })
  })

  it("writes a short gate in full when a part of it is set", () => {
    expect(setInDraft(readDraft("gate: asp"), ["gate", "max_staleness"], 8).value.gate).toEqual({ mode: "asp", max_staleness: 8 })
    expect(setInDraft(readDraft("gate: {ssp: 3}"), ["gate", "bound"], 5).value.gate).toEqual({ mode: "ssp", bound: 5 })
  })
})

it("writes and follows paths", () => {
  expect(pointer(["env", "A/B~C"])).toBe("/env/A~1B~0C")
  expect(getIn({ stop: { target: { at_least: 1 } } }, ["stop", "target", "at_least"])).toBe(1)
  expect(getIn({ stop: null }, ["stop", "target"])).toBeUndefined()
})
