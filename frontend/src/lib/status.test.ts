import { describe, expect, it } from "vitest"
import type { JobStatus } from "@/client"
import { JOB_STATUSES, hasEnded, readable, toneOf } from "./status"

const FROM_THE_FUTURE = "handed_over" as JobStatus

describe("hasEnded", () => {
  it("knows the four ends", () => {
    expect(JOB_STATUSES.filter((status) => hasEnded({ status, ended_at: null }))).toEqual(["succeeded", "failed", "cancelled", "timed_out"])
  })

  it("goes by the time of the end where a newer server has another status", () => {
    expect(hasEnded({ status: FROM_THE_FUTURE, ended_at: null })).toBe(false)
    expect(hasEnded({ status: FROM_THE_FUTURE, ended_at: "2026-01-10T12:00:00Z" })).toBe(true)
  })
})

it("shows a status that it does not know as a word without a colour", () => {
  expect([readable(FROM_THE_FUTURE), toneOf(FROM_THE_FUTURE)]).toEqual(["handed over", "calm"])
})
