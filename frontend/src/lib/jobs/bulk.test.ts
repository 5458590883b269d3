import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { consequence, labelled, outcome, refusals, selected } from "./bulk"

const jobs = (...statuses: Parameters<typeof makeJob>[0][]) => statuses.map((over) => makeJob(over))

it("says what stopping does to those that run, wait and have ended", () => {
  const said = consequence("stop", jobs({ status: "running" }, { status: "queued" }, { status: "failed" }, { status: "succeeded" }))
  expect(said.question).toBe("Stop 2 jobs?")
  expect(said.does).toContain("1 job: the workers finish their current step")
  expect(said.does).toContain("1 job that waits in the queue: cancelled at once.")
  expect(said.does).toContain("2 jobs have ended and do not change.")
  expect(consequence("stop", jobs({ status: "failed" })).nothing).toBe(true)
})

it("says that deleting is for good, and what stays", () => {
  const said = consequence("delete", jobs({ status: "failed" }, { status: "running" }))
  expect(said).toMatchObject({ question: "Delete 1 job?", nothing: false })
  expect(said.does).toContain("cannot be undone")
  expect(said.does).toContain("1 job has not ended and is not deleted")
  expect(consequence("delete", jobs({ status: "running" })).nothing).toBe(true)
})

it("counts the selection against the whole list", () => {
  expect(selected(2, 2014)).toBe("2 of 2,014 jobs selected")
  expect(selected(1, 1)).toBe("1 of 1 job selected")
})

it("says what a bulk change did, and counts neither refused jobs nor those that had ended", () => {
  const before = jobs({ id: "a", status: "running" }, { id: "b", status: "running" }, { id: "c", status: "queued" }, { id: "d", status: "failed" }, { id: "e", status: "running" })
  const items = before.map(({ id }) => ({ id, done: id !== "e", message: id === "e" ? "No." : null }))
  expect(outcome("stop", items, before)).toBe("2 jobs are stopping. 1 job from the queue is cancelled.")
  expect(outcome("delete", [{ id: "d", done: true, message: null }], before)).toBe("1 job is deleted.")
  expect(outcome("stop", [{ id: "d", done: true, message: null }], before)).toBe("")
})

it("tells each refusal once", () => {
  const items = [{ id: "a", done: true, message: null }, { id: "b", done: false, message: "It runs." }, { id: "c", done: false, message: "It runs." }]
  expect(refusals(items)).toEqual(["It runs."])
})

it("says what was tagged and archived, and nothing where all refused", () => {
  const items = [true, true, false].map((done, index) => ({ id: `${index}`, done, message: done ? null : "no" }))
  expect(labelled("add_tags", ["base", "night"], items)).toBe("2 jobs tagged base, night.")
  expect(labelled("remove_tags", ["base"], items.slice(1))).toBe("1 job no longer tagged base.")
  expect(outcome("archive", items, [])).toBe("2 jobs archived.")
  expect(outcome("unarchive", items.slice(2), [])).toBe("")
})
