import { expect, test } from "vitest"
import type { AttemptOverview, ProcessFailure, WorkerLoad } from "@/client"
import { overviewCurves, priceOf, serverBar, spans, workerBar } from "./overview"

const worker = (over: Partial<WorkerLoad>): WorkerLoad => ({
  rank: 0, label: "worker-0", at: null, clock: 1, behind: 0, step: 1, samples_per_second: null, pushes: 1, seconds: 0, compute: 0, data: 0, send: 0,
  wait: 0, before: 0, ended: 0, recovering: 0, slower: null, sent_per_second: null, received_per_second: null, cpu: null, memory: null, gpu: null, gpu_memory: null, peers: [], ...over,
})

const attempt = (over: Partial<AttemptOverview>): AttemptOverview => ({
  number: 1, status: "running", reason: null, message: null, queued_at: "2026-01-10T12:00:00Z", started_at: "2026-01-10T12:00:01Z",
  running_at: "2026-01-10T12:00:03Z", ended_at: null, resumed_from: null, checkpoint: null, cost: null, ...over,
})

const failure = (over: Partial<ProcessFailure>): ProcessFailure => ({
  process_id: "p", label: "worker-0", attempt: 1, incarnation: 0, at: "2026-01-10T12:00:09Z", reason: "killed", message: null, respawned: true,
  seconds: 1.25, ...over,
})

test("what was measured and what is left over fill the bar", () => {
  const bar = workerBar(worker({ seconds: 10, compute: 4, data: 1, send: 1, wait: 2 }), 10)
  expect(bar?.slices.filter((slice) => slice.share > 0).map(({ name, share }) => [name, share])).toEqual([
    ["Compute", 0.4], ["Data", 0.1], ["Send", 0.1], ["Wait", 0.2], ["Other", 0.2],
  ])
})

test("a worker that has ended fills its part of the time axis of all", () => {
  const bar = workerBar(worker({ seconds: 166, compute: 160, before: 2, ended: 1001 }), 1169)
  const shares = Object.fromEntries(bar!.slices.map(({ name, share }) => [name, Math.round(100 * share)]))
  expect(shares).toMatchObject({ Compute: 14, Start: 0, Ended: 86 })
  expect(bar!.slices.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
})

test("the time without a process is no part of the rest", () => {
  const bar = workerBar(worker({ seconds: 6, compute: 6, recovering: 3 }), 10)
  expect(bar?.slices.filter(({ share }) => share > 0).map(({ name, seconds }) => [name, seconds])).toEqual([["Compute", 6], ["Recovering", 3], ["Other", 1]])
})

test("times that overlap fill the bar without a rest", () => {
  const bar = workerBar(worker({ seconds: 3, compute: 3, wait: 1 }), 3)
  expect(bar?.slices.map(({ share }) => share)).toEqual([0.75, 0, 0, 0.25, 0, 0, 0, 0])
})

test("a shard's bar is its average", () => {
  const server = { label: "server-0", at: null, step: 0, busy: 1, worked: 0.25, apply: null, queue: null, cpu: null, memory: null }
  expect(serverBar(server, 8)?.slices.map(({ seconds }) => seconds)).toEqual([2, 6])
})

test("before the second push nobody knows", () => {
  expect(workerBar(worker({ before: 3 }), 10)).toBeNull()
  expect(serverBar({ label: "server-0", at: null, step: 0, busy: null, worked: null, apply: null, queue: null, cpu: null, memory: null }, 10)).toBeNull()
})

test("phases of attempts follow each other up to now", () => {
  const now = Date.parse("2026-01-10T12:00:20Z")
  const found = spans(
    [attempt({ ended_at: "2026-01-10T12:00:10Z" }), attempt({ number: 2, queued_at: "2026-01-10T12:00:10Z", started_at: "2026-01-10T12:00:10Z", running_at: null })],
    now,
  )
  expect(found.map(({ attempt, phase, from, to }) => [attempt, phase, (to - from) / 1000])).toEqual([
    [1, "queued", 1],
    [1, "starting", 2],
    [1, "running", 7],
    [2, "starting", 10],
  ])
})

test("without its only worker a job pauses, and without its evaluator it goes on", () => {
  expect(priceOf(failure({}), [], 1)).toBe("this process was down for 1.3 s; training paused")
  expect(priceOf(failure({ seconds: null }), [], 1)).toBe("this process is down; training pauses")
  expect(priceOf(failure({ label: "evaluator" }), [], 1)).toBe("this process was down for 1.3 s; the others continued")
})

test("a failure says what it cost", () => {
  expect(priceOf(failure({}), [], 2)).toBe("this process was down for 1.3 s; the others continued")
  expect(priceOf(failure({ seconds: null }), [], 2)).toBe("this process is down; the others continue")
  expect(priceOf(failure({ respawned: false }), [attempt({})], 2)).toBe("the attempt ended, and none followed")
  const cost = { seconds: 4, pushes: 12, samples: 3840 }
  expect(priceOf(failure({ respawned: false }), [attempt({ cost })], 2)).toBe("4.0 s without training, 12 pushes rolled back, 3,840 samples trained again")
})

test("draws the loss and the evaluation that the job is judged by, once they are measured", () => {
  const names = ["eval/loss", "train/loss", "eval/accuracy", "time/wait"]
  expect(overviewCurves(names, "accuracy")).toEqual(["train/loss", "eval/accuracy"])
  expect(overviewCurves(names, null)).toEqual(["train/loss", "eval/accuracy"])
  expect(overviewCurves(["train/loss"], "accuracy")).toEqual(["train/loss"])
  expect(overviewCurves([], null)).toEqual([])
})
