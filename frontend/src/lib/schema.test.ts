import { describe, expect, it } from "vitest"
import { readSchema, type Field, type JsonSchema } from "./schema"

const schema: JsonSchema = {
  $defs: {
    Adag: { description: "Normalized windows.", properties: { name: { const: "adag" }, window: { type: "integer", minimum: 1, default: 12 } } },
    Sync: { properties: { name: { const: "sync" }, lr: { type: "number", exclusiveMinimum: 0 } } },
    Target: { properties: { at_least: { anyOf: [{ type: "number" }, { type: "null" }], default: null } } },
  },
  properties: {
    name: { type: "string", description: "Short name", examples: ["digits"] },
    strategy: { discriminator: { propertyName: "name", mapping: { adag: "#/$defs/Adag", sync: "#/$defs/Sync" } }, oneOf: [] },
    target: { anyOf: [{ $ref: "#/$defs/Target" }, { type: "null" }], default: null },
    every: { anyOf: [{ type: "number" }, { type: "string", pattern: "s$" }], default: 2 },
    timeout: { anyOf: [{ anyOf: [{ type: "number" }, { type: "string" }] }, { type: "null" }] },
    on_nan: { enum: ["fail", "drop"], default: "fail" },
    env: { type: "object", additionalProperties: { type: "string" } },
    version: { const: 1 },
  },
  required: ["name", "strategy"],
}

const fields = Object.fromEntries(readSchema(schema).map((field) => [field.key, field]))

describe("readSchema", () => {
  it("reads text with its description, example and whether it must be there", () => {
    expect(fields.name).toMatchObject({ kind: "text", example: "digits", description: "Short name", required: true })
  })

  it("reads a tagged union as variants without the tag among their fields", () => {
    const strategy = fields.strategy as Extract<Field, { kind: "variants" }>
    expect(strategy.variants.map(({ value, summary }) => [value, summary])).toEqual([["adag", "Normalized windows."], ["sync", ""]])
    expect(strategy.variants[0]!.fields).toMatchObject([{ key: "window", kind: "number", integer: true, min: 1, default: 12 }])
  })

  it("reads what may be null as optional, through references", () => {
    expect(fields.target).toMatchObject({ kind: "group", optional: true })
    expect(fields.target).toMatchObject({ fields: [{ key: "at_least", kind: "number", optional: true }] })
  })

  it("reads number or text as a duration, also inside an optional one", () => {
    expect([fields.every!.kind, fields.timeout!.kind, fields.timeout!.optional]).toEqual(["duration", "duration", true])
  })

  it("reads choices, maps and constants", () => {
    expect(fields.on_nan).toMatchObject({ kind: "choice", options: ["fail", "drop"] })
    expect([fields.env!.kind, fields.version!.kind]).toEqual(["map", "fixed"])
  })

  it("says which reference leads nowhere", () => {
    expect(() => readSchema({ properties: { a: { $ref: "#/$defs/Gone" } } })).toThrow("#/$defs/Gone")
  })
})
