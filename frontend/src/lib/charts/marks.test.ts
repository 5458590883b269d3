import { expect, it } from "vitest"
import type { JobEvent } from "@/client"
import { markAt, marksOf } from "./marks"

const event = (second: number, kind: JobEvent["kind"], message: string, data: Record<string, unknown> = {}): JobEvent => ({
  seq: second, time: new Date(second * 1000).toISOString(), kind, actor: "controller", message, data,
})
const marks = marksOf([
  event(1, "attempt", "attempt 1 begins from the beginning, on vm.", { number: 1, resumed_from: null }),
  event(5, "checkpoint", "checkpoint 1 of attempt 1 is committed."),
  event(7, "process", "worker-1 failed, signal", { label: "worker-1", reason: "signal", incarnation: 0 }),
  event(8, "process", "worker-1 was lost. It restarts on vm; the others continue.", { label: "worker-1", incarnation: 1 }),
  event(20, "attempt", "attempt 1 failed", { number: 1 }),
  event(21, "attempt", "attempt 2 begins from checkpoint 1 of attempt 1, on vm.", { number: 2, resumed_from: { attempt: 1, checkpoint: 1 } }),
  event(30, "process", "worker-0 exited, done", { label: "worker-0", reason: "done", incarnation: 0 }),
])

it("marks checkpoints, failures and restarts, and no usual ends", () => {
  expect(marks.map(({ x, kind }) => `${x} ${kind}`)).toEqual(["5 checkpoint", "7 failure", "8 restart", "21 restart"])
})

it("finds the mark nearest to a place", () => {
  expect(markAt(marks, 7.6, 1)?.kind).toBe("restart")
  expect(markAt(marks, 12, 1)).toBeNull()
})
