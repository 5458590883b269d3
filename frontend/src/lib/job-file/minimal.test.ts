import { expect, it } from "vitest"
import { withoutDefaults } from "./minimal"
import type { JsonSchema } from "./schema"

const schema: JsonSchema = {
  $defs: {
    Sgd: { properties: { name: { const: "sgd", default: "sgd" }, momentum: { type: "number", default: 0 } } },
    Adam: { properties: { name: { const: "adam", default: "adam" }, eps: { type: "number", default: 1e-8 } } },
    Local: { properties: { name: { const: "local", default: "local" }, window: { anyOf: [{ type: "integer" }, { type: "null" }], default: 16 } } },
    Gate: { properties: { mode: { enum: ["asp", "bsp"], default: "asp" }, bound: { type: "integer", default: 3 } } },
    Roles: { properties: { worker: { $ref: "#/$defs/Worker", default: { count: 1, device: "auto" } } } },
    Worker: { properties: { count: { type: "integer", default: 1 }, device: { type: "string", default: "auto" } } },
  },
  properties: {
    version: { const: 1, default: 1 },
    name: { type: "string" },
    strategy: { discriminator: { propertyName: "name", mapping: { local: "#/$defs/Local" } }, oneOf: [{ $ref: "#/$defs/Local" }] },
    optimizer: {
      discriminator: { propertyName: "name", mapping: { sgd: "#/$defs/Sgd", adam: "#/$defs/Adam" } },
      oneOf: [{ $ref: "#/$defs/Sgd" }, { $ref: "#/$defs/Adam" }],
      default: { name: "sgd", momentum: 0 },
    },
    gate: { anyOf: [{ $ref: "#/$defs/Gate" }, { type: "null" }], default: null },
    roles: { $ref: "#/$defs/Roles", default: { worker: { count: 1, device: "auto" } } },
    env: { type: "object" },
    seed: { type: "integer", default: 1 },
  },
  required: ["name", "strategy"],
}

const spec = {
  version: 1, name: "a", strategy: { name: "local", window: 16 }, optimizer: { name: "sgd", momentum: 0 }, gate: null,
  roles: { worker: { count: 4, device: "auto" } }, env: {}, seed: 1,
}

it("keeps what differs from its default, what is required, and names", () => {
  expect(withoutDefaults(spec, schema)).toEqual({ version: 1, name: "a", strategy: { name: "local" }, roles: { worker: { count: 4 } } })
})

it("looks into the kind that was selected", () => {
  const other = { ...spec, optimizer: { name: "adam", eps: 1e-8 }, seed: 2 }
  expect(withoutDefaults(other, schema)).toMatchObject({ optimizer: { name: "adam" }, seed: 2 })
})

it("keeps null where it is not the default, and a group that is there although it could be absent", () => {
  const other = { ...spec, strategy: { name: "local", window: null }, gate: { mode: "asp", bound: 3 } }
  expect(withoutDefaults(other, schema)).toMatchObject({ strategy: { name: "local", window: null }, gate: { mode: "asp" } })
})
