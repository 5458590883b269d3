import { describe, expect, it } from "vitest"
import type { BundledArgument } from "@/client"
import { argumentField } from "./arguments"

const hidden: BundledArgument = { name: "hidden_units", annotation: "int", required: false, default: 32, literal: true, values: { type: "integer" }, help: "Units of the hidden layer." }

describe("a field for an argument of the workload", () => {
  it("has the argument's own name, its help and its default", () => {
    expect(argumentField(hidden)).toMatchObject({ kind: "number", integer: true, label: "hidden_units", description: "Units of the hidden layer.", default: 32, required: false })
  })

  it("is a switch, a choice or text by its type", () => {
    const kinds = [
      { annotation: "bool", values: { type: "boolean" }, default: true },
      { annotation: "Literal['relu', 'tanh']", values: { enum: ["relu", "tanh"], type: "string" }, default: "relu" },
      { annotation: "Literal['relu', 'tanh'] | None", values: { anyOf: [{ enum: ["relu", "tanh"], type: "string" }, { type: "null" }] }, default: null },
      { annotation: "float | None", values: { anyOf: [{ type: "number" }, { type: "null" }] }, default: null },
      { annotation: "Path", values: { format: "path", type: "string" }, default: "." },
    ].map((one) => argumentField({ ...hidden, ...one })?.kind)
    expect(kinds).toEqual(["switch", "choice", "choice", "number", "text"])
  })

  it("is missing where a form could only write text", () => {
    const types = [null, { enum: [16, 32], type: "integer" }, { const: 1, type: "integer" }, { type: "array", items: { type: "integer" } }, { anyOf: [{ type: "integer" }, { type: "string" }] }]
    for (const values of types) expect(argumentField({ ...hidden, values })).toBeNull()
  })

  it("shows the type without a help, and says what an empty field means", () => {
    expect(argumentField({ ...hidden, help: "" })?.description).toBe("int")
    expect(argumentField({ ...hidden, literal: false, default: null })?.description).toBe("Units of the hidden layer (empty: the code's default)")
  })
})
