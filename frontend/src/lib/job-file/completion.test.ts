import { expect, it } from "vitest"
import { completionsAt, cursorAt } from "./completion"
import { readDraft } from "./draft"
import { readSchema } from "./schema"

const schema = {
  $defs: {
    Adag: { description: "A window.", properties: { name: { const: "adag" }, lr: { type: "number" }, window: { type: "integer", default: 12, description: "Local steps" } } },
    Sync: { description: "The mean.", properties: { name: { const: "sync" }, lr: { type: "number" } } },
  },
  properties: {
    name: { type: "string" },
    seed: { type: "integer", description: "Seed of all random numbers", default: 1 },
    strategy: { oneOf: [{ $ref: "#/$defs/Sync" }, { $ref: "#/$defs/Adag" }], discriminator: { propertyName: "name", mapping: { adag: "#/$defs/Adag", sync: "#/$defs/Sync" } } },
    compile: { type: "boolean" },
    roles: { properties: { worker: { properties: { count: { type: "integer" }, device: { enum: ["auto", "cpu"] } } } } },
  },
}
const fields = readSchema(schema)

/** Labels at the `|`, with the text that the first of them makes. */
function at(marked: string, whole = marked.replace("|", "")) {
  const caret = marked.indexOf("|")
  const text = marked.replace("|", "")
  const { from, options } = completionsAt(text, caret, fields, readDraft(whole).value)
  return { labels: options.map(({ label }) => label), first: options[0] && text.slice(0, from) + options[0].insert + text.slice(caret) }
}

it("offers keys of the file that it has not yet, with what is typed", () => {
  expect(at("name: a\n|").labels).toEqual(["seed", "strategy", "compile", "roles"])
  expect(at("name: a\nse|", "name: a\n")).toEqual({ labels: ["seed"], first: "name: a\nseed: " })
})

it("offers keys of a block by its indentation", () => {
  expect(at("roles:\n  worker:\n    |", "roles: {worker: {}}").labels).toEqual(["count", "device"])
  expect(at("roles:\n  worker:\n    count: 1\n    d|", "roles: {worker: {count: 1}}").labels).toEqual(["device"])
  expect(at("roles:\n  worker:\n    count: 1\nse|", "roles: {}").labels).toEqual(["seed"])
})

it("offers keys within braces, by the strategy that is named there", () => {
  expect(at("strategy: {name: adag, |", "strategy: {name: adag}").labels).toEqual(["lr", "window"])
  expect(at("strategy: {name: sync, |", "strategy: {name: sync}").labels).toEqual(["lr"])
  expect(at("roles: {worker: {co|", "roles: {}")).toEqual({ labels: ["count"], first: "roles: {worker: {count: " })
})

it("offers values: names of strategies with their summaries, words, true and false, defaults", () => {
  expect(at("strategy: {name: a|", "strategy: {}")).toEqual({ labels: ["adag"], first: "strategy: {name: adag" })
  expect(at("strategy: |", "").first).toBe("strategy: {name: sync}")
  expect(completionsAt("strategy: {name: ", 17, fields, {}).options.map(({ help }) => help)).toEqual(["The mean.", "A window."])
  expect(at("compile: |", "").labels).toEqual(["true", "false"])
  expect(at("seed: |", "").labels).toEqual(["1"])
  expect(at("seed: 1|", "").labels).toEqual([]) // or Enter would make 12 of it
  expect(at("roles:\n  worker:\n    device: c|", "").labels).toEqual(["cpu"])
})

it("offers nothing in comments, unknown places, or after a value", () => {
  expect(at("name: a # s|", "").labels).toEqual([])
  expect(at("other:\n  |", "").labels).toEqual([])
  expect(at("seed: 1 |", "").labels).toEqual([])
  expect(cursorAt("a:\n  b: ")).toMatchObject({ path: ["a"], of: "b", word: "" })
})
