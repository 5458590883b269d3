import { expect, it } from "vitest"
import { choices, fits, processOf, type EventFilter } from "./events"
import { makeEvent } from "./testing"

const all: EventFilter = { kinds: [], process: null, text: "" }
const events = [
  makeEvent(1, { kind: "status", actor: "user:ada", message: "queued: ada submitted it." }),
  makeEvent(2, { kind: "process", actor: "node:vm", message: "worker-10 lost", data: { label: "worker-10" } }),
  makeEvent(3, { kind: "process", actor: "node:vm", message: "worker-2 exited", data: { label: "worker-2" } }),
  makeEvent(4, { kind: "cut", actor: "evaluator", message: "cut 1 is written" }),
]
const shown = (filter: Partial<EventFilter>) => events.filter((event) => fits(event, { ...all, ...filter })).map(({ seq }) => seq)

it("filters by kind, process and text, all at once", () => {
  expect(shown({})).toEqual([1, 2, 3, 4])
  expect(shown({ kinds: ["process", "cut"] })).toEqual([2, 3, 4])
  expect(shown({ process: "worker-2" })).toEqual([3])
  expect(shown({ text: "ADA" })).toEqual([1])
  expect(shown({ kinds: ["process"], text: "lost" })).toEqual([2])
})

it("knows which process an event is about", () => {
  expect(events.map(processOf)).toEqual([null, "worker-10", "worker-2", "evaluator"])
})

it("counts what each choice would show beside the others, numbers in their order", () => {
  const { kinds, processes } = choices(events, { ...all, kinds: ["status"], text: "lost" })
  expect([...kinds]).toEqual([["cut", 0], ["process", 1], ["status", 0]])
  expect([...processes]).toEqual([["evaluator", 0], ["worker-2", 0], ["worker-10", 0]])
})

it("keeps a choice that is not there, so that it can be taken back", () => {
  expect([...choices([], { ...all, kinds: ["target"], process: "worker-9" }).kinds]).toEqual([["target", 0]])
})
