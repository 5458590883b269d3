import { expect, it } from "vitest"
import type { Account, AttemptOverview, Job, ProcessFailure } from "@/client"
import { isPlain } from "./history"

const attempt = { number: 1 } as AttemptOverview
const failed = { status: "failed", message: "worker-0: RuntimeError: broken", progress: {} } as Job
const running = { status: "running", message: null, progress: {} } as unknown as Job
const failure = { message: "RuntimeError: broken", respawned: false } as ProcessFailure
const ledger = { pushed: 9, applied: 7, deferred: 0, dropped: 0, pending: 2, rolled_back: 0 } as Account
const plain = { attempts: [attempt], failures: [], ledger }

it("has nothing to tell of one attempt without a failure", () => {
  expect(isPlain(plain, running)).toBe(true)
  expect(isPlain({ ...plain, attempts: [], ledger: null }, running)).toBe(true)
})

it("has nothing more to tell of a failure that the head of the page explains", () => {
  expect(isPlain({ ...plain, failures: [failure] }, failed)).toBe(true)
  expect(isPlain({ ...plain, failures: [{ ...failure, message: "killed by signal 9" }] }, failed)).toBe(false)
})

it("tells of a process that was replaced, of a second attempt, and of pushes without effect", () => {
  expect(isPlain({ ...plain, failures: [{ ...failure, respawned: true }] }, running)).toBe(false)
  expect(isPlain({ ...plain, attempts: [attempt, attempt] }, running)).toBe(false)
  expect(isPlain({ ...plain, ledger: { ...ledger, dropped: 1 } }, running)).toBe(false)
  expect(isPlain({ ...plain, ledger: { ...ledger, rolled_back: 1 } }, running)).toBe(false)
})

it("tells where the mini-batches are that servers deal", () => {
  expect(isPlain(plain, { ...running, progress: { dealt: { planned: 9 } } } as unknown as Job)).toBe(false)
})
