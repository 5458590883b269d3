import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { pauseOf } from "./pause"

it("asks for a job while it lives and a moment longer, less often the more there are", () => {
  const end = "2026-01-10T12:00:00Z"
  expect(pauseOf(makeJob(), 3)).toBe(2000)
  expect(pauseOf(makeJob(), 50)).toBe(12_500)
  expect(pauseOf(makeJob({ status: "failed", ended_at: end }), 3, Date.parse(end) + 5000)).toBe(2000)
  expect(pauseOf(makeJob({ status: "failed", ended_at: end }), 3, Date.parse(end) + 60_000)).toBe(false)
})
