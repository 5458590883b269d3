import { expect, it } from "vitest"
import { intentsOf, selecting } from "./intents"
import { readSchema, type Intent, type JsonSchema } from "./schema"

const EXACT: Intent = { title: "Exact", summary: "One mean gradient.", needs: "equal workers" }
const ALONE: Intent = { title: "Alone", summary: "The baseline.", needs: "one worker" }

function named(name: string, intent: Intent, gates: string[], workers: number | null = null): JsonSchema {
  return { properties: { name: { const: name } }, "x-strategy": { intent, gates, workers } }
}

const schema: JsonSchema = {
  $defs: { Single: named("single", ALONE, ["asp"], 1), Sync: named("sync", EXACT, ["bsp"]), Twin: named("twin", EXACT, ["asp", "ssp"]) },
  properties: {
    strategy: {
      discriminator: { propertyName: "name", mapping: { single: "#/$defs/Single", sync: "#/$defs/Sync", twin: "#/$defs/Twin" } },
      oneOf: [{ $ref: "#/$defs/Sync" }, { $ref: "#/$defs/Single" }, { $ref: "#/$defs/Twin" }],
    },
  },
}
const cards = intentsOf(readSchema(schema))
const [sync, twin] = cards[0]!.strategies
const single = cards[1]!.strategies[0]

it("makes one card of the strategies with the same intent", () => {
  expect(cards.map(({ intent, strategies }) => [intent.title, strategies.map(({ value }) => value)])).toEqual([["Exact", ["sync", "twin"]], ["Alone", ["single"]]])
})

it("keeps a gate that the strategy supports, and removes another", () => {
  const draft = { strategy: { name: "single" }, gate: { mode: "ssp", bound: 3 }, roles: { worker: { count: 4 } } }
  expect(selecting(twin!, draft)).toEqual([[["strategy"], { name: "twin" }]])
  expect(selecting(sync!, draft)).toEqual([[["strategy"], { name: "sync" }], [["gate"], undefined]])
})

it("sets the number of workers where only one is possible, and changes nothing of what is selected already", () => {
  const draft = { strategy: { name: "sync", lr: 0.3 }, roles: { worker: { count: 4 } } }
  expect(selecting(single!, draft)).toEqual([[["strategy"], { name: "single" }], [["roles", "worker", "count"], 1]])
  expect(selecting(single!, {})).toEqual([[["strategy"], { name: "single" }]])
  expect(selecting(sync!, draft)).toEqual([])
})
