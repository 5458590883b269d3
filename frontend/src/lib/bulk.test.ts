import { expect, it } from "vitest"
import { consequence, refusals } from "./bulk"
import { makeJob } from "./testing"

const jobs = (...statuses: Parameters<typeof makeJob>[0][]) => statuses.map((over) => makeJob(over))

it("says what stopping does to those that run, wait and have ended", () => {
  const said = consequence("stop", jobs({ status: "running" }, { status: "queued" }, { status: "failed" }, { status: "succeeded" }))
  expect(said.question).toBe("Stop 2 jobs?")
  expect(said.does).toContain("1 job: the workers finish the step")
  expect(said.does).toContain("1 job that waits in the queue: cancelled at once.")
  expect(said.does).toContain("2 jobs have ended and stay as they are.")
  expect(consequence("stop", jobs({ status: "failed" })).nothing).toBe(true)
})

it("says that deleting is for good, and what stays", () => {
  const said = consequence("delete", jobs({ status: "failed" }, { status: "running" }))
  expect(said).toMatchObject({ question: "Delete 1 job?", nothing: false })
  expect(said.does).toContain("cannot be undone")
  expect(said.does).toContain("1 job has not ended and stays")
  expect(consequence("delete", jobs({ status: "running" })).nothing).toBe(true)
})

it("tells each refusal once", () => {
  const items = [{ id: "a", done: true, message: null }, { id: "b", done: false, message: "It runs." }, { id: "c", done: false, message: "It runs." }]
  expect(refusals(items)).toEqual(["It runs."])
})
