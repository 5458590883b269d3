import { expect, it } from "vitest"
import { JOB_STATUSES, hasEnded } from "@/lib/status"
import { nothing } from "./nothing"

it("says of a job that goes on that something may still come", () => {
  expect(nothing("No checkpoint has been made", "running")).toBe("No checkpoint has been made yet.")
  expect(nothing("No checkpoint has been made", "queued")).toBe("No checkpoint has been made yet: the job waits in the queue.")
})

it("says of every job that has ended why nothing will", () => {
  expect(nothing("No checkpoint has been made", "failed")).toBe("No checkpoint has been made: the job failed first.")
  for (const status of JOB_STATUSES.filter((one) => hasEnded({ status: one }))) {
    expect(nothing("No checkpoint has been made", status)).toMatch(/^No checkpoint has been made[:,].* job .*\.$/)
  }
})
