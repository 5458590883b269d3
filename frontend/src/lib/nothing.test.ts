import { expect, it } from "vitest"
import { nothing } from "./nothing"
import { JOB_STATUSES, hasEnded } from "./status"

it("says of a job that goes on that something may still come", () => {
  expect(nothing("No cut has been made", "running")).toBe("No cut has been made yet.")
  expect(nothing("No cut has been made", "queued")).toBe("No cut has been made yet: the job waits in the queue.")
})

it("says of every job that has ended why nothing will", () => {
  expect(nothing("No cut has been made", "failed")).toBe("No cut has been made: the job failed first.")
  for (const status of JOB_STATUSES.filter(hasEnded)) {
    expect(nothing("No cut has been made", status)).toMatch(/^No cut has been made[:,].* job .*\.$/)
  }
})
