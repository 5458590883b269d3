import { describe, expect, it } from "vitest"
import { firstSentence, isShown, rangeInWords, readSchema, type Field, type JsonSchema } from "./schema"

const schema: JsonSchema = {
  $defs: {
    Adag: { description: "Normalized windows.", properties: { name: { const: "adag" }, window: { type: "integer", minimum: 1, default: 12 } } },
    Sync: { properties: { name: { const: "sync" }, lr: { type: "number", exclusiveMinimum: 0 } } },
    Named: { properties: { match: { type: "string" }, factor: { type: "number", default: 1 } }, required: ["match"] },
    Target: { properties: { at_least: { anyOf: [{ type: "number" }, { type: "null" }], default: null } } },
  },
  properties: {
    name: { type: "string", description: "Short name", examples: ["digits"] },
    strategy: { discriminator: { propertyName: "name", mapping: { adag: "#/$defs/Adag", sync: "#/$defs/Sync" } }, oneOf: [{ $ref: "#/$defs/Sync" }, { $ref: "#/$defs/Adag" }] },
    target: { anyOf: [{ $ref: "#/$defs/Target" }, { type: "null" }], default: null },
    warmup: { anyOf: [{ type: "integer", minimum: 0 }, { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }], default: 0 },
    every: { anyOf: [{ type: "number" }, { type: "string", pattern: "s$" }], default: 2 },
    timeout: { anyOf: [{ anyOf: [{ type: "number" }, { type: "string" }] }, { type: "null" }] },
    average: { anyOf: [{ type: "number" }, { const: "uniform", type: "string" }, { type: "null" }], default: null },
    averaging: {
      properties: {
        steps: { anyOf: [{ type: "integer" }, { type: "null" }], default: 16, description: "Steps between averages; null: only one, at the end" },
        alpha: { anyOf: [{ type: "number" }, { type: "null" }], default: null },
      },
    },
    gate: {
      properties: {
        mode: { enum: ["asp", "ssp"], default: "asp" },
        bound: { type: "integer", default: 3, description: "ssp: rounds ahead" },
        adaptive: { type: "boolean", default: false },
        decay: { type: "number", description: "adaptive: memory" },
      },
    },
    on_nan: { enum: ["fail", "drop"], default: "fail" },
    env: { type: "object", additionalProperties: { type: "string" } },
    version: { const: 1 },
    groups: { type: "array", items: { $ref: "#/$defs/Named" }, default: [] },
    names: { type: "array", items: { type: "string" }, default: [] },
    pair: { type: "array", prefixItems: [{ type: "number" }, { type: "number" }] },
  },
  required: ["name", "strategy"],
}

const fields = Object.fromEntries(readSchema(schema).map((field) => [field.key, field]))

describe("readSchema", () => {
  it("reads text with its description, example and whether it must be there", () => {
    expect(fields.name).toMatchObject({ kind: "text", example: "digits", description: "Short name", required: true })
  })

  it("reads a tagged union as variants, in its order and without the tag among their fields", () => {
    const strategy = fields.strategy as Extract<Field, { kind: "variants" }>
    expect(strategy.variants.map(({ value, summary }) => [value, summary])).toEqual([["sync", ""], ["adag", "Normalized windows."]])
    expect(strategy.variants[1]!.fields).toMatchObject([{ key: "window", kind: "number", integer: true, range: { min: 1, above: false }, default: 12 }])
  })

  it("reads what may be null as optional, through references", () => {
    expect(fields.target).toMatchObject({ kind: "group", optional: true })
    expect(fields.target).toMatchObject({ fields: [{ key: "at_least", kind: "number", optional: true }] })
  })

  it("reads number or text as a duration, also inside an optional one", () => {
    expect([fields.every!.kind, fields.timeout!.kind, fields.timeout!.optional]).toEqual(["duration", "duration", true])
  })

  it("reads a number or a word as that, not as a duration", () => {
    expect(fields.average).toMatchObject({ kind: "numberOrWord", words: ["uniform"], optional: true })
  })

  it("reads a count or a share as a number that may be a fraction", () => {
    expect(fields.warmup).toMatchObject({ kind: "number", integer: false, range: { min: 0, max: undefined } })
  })

  it("knows where null is a choice of its own, and what it means", () => {
    const [steps, alpha] = (fields.averaging as Extract<Field, { kind: "group" }>).fields
    expect(steps).toMatchObject({ kind: "number", optional: true, description: "Steps between averages", none: "only one, at the end" })
    expect(alpha).toMatchObject({ optional: true, none: undefined })
  })

  it("ties a field to the choice or the switch that it is about", () => {
    const [mode, bound, adaptive, decay] = (fields.gate as Extract<Field, { kind: "group" }>).fields
    expect(bound).toMatchObject({ description: "Rounds ahead", when: { key: "mode", value: "ssp" } })
    expect([isShown(mode!, {}), isShown(bound!, {}), isShown(bound!, { mode: "ssp" }), isShown(bound!, { mode: "asp", bound: 3 })]).toEqual([
      true, false, true, true,
    ])
    expect([isShown(adaptive!, {}), isShown(decay!, {}), isShown(decay!, { adaptive: true })]).toEqual([true, false, true])
  })

  it("reads choices, maps and constants", () => {
    expect(fields.on_nan).toMatchObject({ kind: "choice", options: ["fail", "drop"] })
    expect([fields.env!.kind, fields.version!.kind]).toEqual(["map", "fixed"])
  })

  it("reads lists of groups and of texts; others are edited as text", () => {
    expect(fields.groups).toMatchObject({ kind: "list", fields: [{ key: "match", kind: "text", required: true }, { key: "factor", kind: "number" }] })
    expect(fields.names!.kind).toBe("texts")
    expect(fields.pair!.kind).toBe("other")
  })

  it("says the range of a number in words", () => {
    const open = { min: undefined, max: undefined, above: false, below: false }
    const ranges = [open, { ...open, min: 1 }, { ...open, min: 0, above: true }, { ...open, min: 0, max: 1 }, { ...open, max: 2, below: true }]
    expect(ranges.map(rangeInWords)).toEqual(["", "at least 1", "above 0", "0 to 1", "below 2"])
    expect(rangeInWords({ min: 0, max: 1, above: true, below: false })).toBe("above 0, at most 1")
    expect(rangeInWords({ ...open, min: 0, max: 2 ** 31, below: true })).toBe("at least 0")
    expect(rangeInWords({ ...open, min: -1e30, max: 1e30 })).toBe("")
  })

  it("parts the first sentence of a description from the rest", () => {
    expect(firstSentence("Worker processes")).toEqual(["Worker processes", ""])
    expect(firstSentence("Mean of a window.")).toEqual(["Mean of a window", ""])
    expect(firstSentence("Servers, such as 1.5 of each. auto: by size. 0: none")).toEqual(["Servers, such as 1.5 of each", "auto: by size. 0: none"])
  })

  it("says which reference leads nowhere", () => {
    expect(() => readSchema({ properties: { a: { $ref: "#/$defs/Gone" } } })).toThrow("#/$defs/Gone")
  })
})
