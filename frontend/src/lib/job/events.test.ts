import { expect, it } from "vitest"
import type { EventKind } from "@/client"
import { makeEvent } from "@/lib/testing"
import { actorName, choices, fits, gathered, lastWords, messageOf, processOf, toneOfEvent, type EventFilter } from "./events"

const all: EventFilter = { kinds: [], process: null, text: "" }
const events = [
  makeEvent(1, { kind: "status", actor: "user:ada", message: "queued: ada submitted it." }),
  makeEvent(2, { kind: "process", actor: "node:vm", message: "worker-10 lost", data: { label: "worker-10" } }),
  makeEvent(3, { kind: "process", actor: "node:vm", message: "worker-2 exited", data: { label: "worker-2" } }),
  makeEvent(4, { kind: "checkpoint", actor: "evaluator", message: "checkpoint 1 is written" }),
]
const shown = (filter: Partial<EventFilter>) => events.filter((event) => fits(event, { ...all, ...filter })).map(({ seq }) => seq)

it("filters by kind, process and text, all at once", () => {
  expect(shown({})).toEqual([1, 2, 3, 4])
  expect(shown({ kinds: ["process", "checkpoint"] })).toEqual([2, 3, 4])
  expect(shown({ process: "worker-2" })).toEqual([3])
  expect(shown({ text: "ADA" })).toEqual([1])
  expect(shown({ kinds: ["process"], text: "lost" })).toEqual([2])
})

it("knows which process an event is about", () => {
  expect(events.map(processOf)).toEqual([null, "worker-10", "worker-2", "evaluator"])
})

it("counts what each choice would show beside the others, numbers in their order", () => {
  const { kinds, processes } = choices(events, { ...all, kinds: ["status"], text: "lost" })
  expect([...kinds]).toEqual([["checkpoint", 0], ["process", 1], ["status", 0]])
  expect([...processes]).toEqual([["evaluator", 0], ["worker-2", 0], ["worker-10", 0]])
})

it("keeps a choice that is not there, so that it can be taken back", () => {
  expect([...choices([], { ...all, kinds: ["target"], process: "worker-9" }).kinds]).toEqual([["target", 0]])
})

it("stands checkpoints and exits that say the same as one, and leaves what lies between them in its place", () => {
  const said = (seq: number, kind: EventKind, message: string) => makeEvent(seq, { kind, message })
  const listed = [
    ...[12, 11, 10].map((seq) => said(seq, "checkpoint", `checkpoint ${seq} of attempt 2 is committed.`)),
    said(9, "attempt", "attempt 2 begins from checkpoint 8, on vm."),
    ...[8, 7].map((seq) => said(seq, "checkpoint", `checkpoint ${seq} of attempt 1 is committed.`)),
    ...[6, 5, 4, 3].map((seq) => said(seq, "process", `worker-${seq} exited, done`)),
    said(2, "process", "worker-2 exited, killed"),
  ]
  expect(gathered(listed).map((alike) => alike.map(({ seq }) => seq))).toEqual([[12, 11, 10], [9], [8], [7], [6, 5, 4, 3], [2]])
  expect(gathered([])).toEqual([])
})

it("uses the words of people for reasons and for those who did it", () => {
  const event = makeEvent(1, { kind: "process", message: "worker-0 exited, user_error: my_name is not defined", data: { reason: "user_error" } })
  expect(messageOf(event)).toBe("worker-0 exited, user error: my_name is not defined")
  expect(["user:ada", "node:rack:7", "controller", "server-0"].map(actorName)).toEqual(["ada", "node rack:7", "controller", "server-0"])
})

it("marks warnings, and how a job ended", () => {
  const status = (to: string) => toneOfEvent(makeEvent(1, { data: { to } }))
  expect(toneOfEvent(makeEvent(1, { kind: "warning" }))).toBe("wait")
  expect(["failed", "succeeded", "running", "queued"].map(status)).toEqual(["bad", "good", "calm", "calm"])
})

it("finds what the process wrote last that a job failed for", () => {
  const failed = (seq: number, log_tail: string) => makeEvent(seq, { data: { process: `worker-${seq}`, log_tail } })
  expect(lastWords([failed(1, "one"), makeEvent(2), failed(3, "two\nthree"), makeEvent(4)])).toEqual({ label: "worker-3", lines: "two\nthree" })
  expect(lastWords([failed(1, "")])).toBeNull()
  expect(lastWords(events)).toBeNull()
})
