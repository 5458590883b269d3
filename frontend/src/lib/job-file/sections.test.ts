import { describe, expect, it } from "vitest"
import { readSchema, type JsonSchema } from "./schema"
import { countChanged, fieldId, hasPlace, matching, moreFields, pick, RESOURCES } from "./sections"

const schema: JsonSchema = {
  $defs: { Sgd: { description: "Plain steps.", properties: { name: { const: "sgd" }, momentum: { type: "number", default: 0, description: "Share of the last step" } } } },
  properties: {
    version: { const: 1 },
    name: { type: "string" },
    note: { type: "string", default: "", description: "Remark on the job" },
    batch_size: { type: "integer", default: 32 },
    optimizer: { discriminator: { propertyName: "name", mapping: { sgd: "#/$defs/Sgd" } }, oneOf: [{ $ref: "#/$defs/Sgd" }], default: { name: "sgd" } },
    roles: { properties: { worker: { properties: { count: { type: "integer", default: 1 }, threads: { type: "integer", default: 1 } } } } },
    stop: { properties: { epochs: { type: "number" }, never: { type: "boolean", default: false } } },
    env: { type: "object" },
  },
}
const fields = readSchema(schema)
const more = moreFields(fields)

describe("sections", () => {
  it("pick fields out of their groups, and leave the others under more settings", () => {
    expect(pick(fields, RESOURCES).map(({ field, path }) => [field.label, path.join(".")])).toEqual([
      ["workers", "roles.worker.count"], ["batch size", "batch_size"], ["epochs", "stop.epochs"],
    ])
    expect(more.map(({ key }) => key)).toEqual(["note", "optimizer", "roles", "stop", "env"])
    expect(more[2]).toMatchObject({ keys: ["worker"], isPart: false, fields: [{ keys: ["count", "threads"], fields: [{ key: "threads" }] }] })
    expect(more[3]).toMatchObject({ isPart: true })
  })

  it("find settings by all words of a name, a description or a kind", () => {
    const found = (search: string) => matching(more, search).map(({ key }) => key)
    expect([found("remark JOB"), found("momentum"), found("plain"), found("threads"), found("nowhere")]).toEqual([["note"], ["optimizer"], ["optimizer"], ["roles"], []])
    expect(found("")).toHaveLength(more.length)
  })

  it("count what differs from its default", () => {
    const value = { batch_size: 64, note: "", optimizer: { name: "sgd", momentum: 0.9 }, roles: { worker: { count: 3, threads: 2 } }, env: { A: "1" } }
    expect(countChanged(more, value)).toBe(3)
    expect(countChanged(more, {})).toBe(0)
  })

  it("know which place of the file has a field that shows a mistake", () => {
    const has = (path: string) => hasPlace(fields, path.split("."))
    expect(["stop", "stop.epochs", "stop.epoks", "nmae", "optimizer.name", "optimizer.momentum", "env.A"].map(has)).not.toContain(false)
    expect([has("version"), has("env.A.b"), has("name.x"), hasPlace(fields, [])]).toEqual([false, false, false, false])
    expect(fieldId(["env", "A b"])).toBe("field/env/A_b")
  })
})
