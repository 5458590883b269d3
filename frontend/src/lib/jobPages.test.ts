import { expect, it } from "vitest"
import { withChangedJob } from "./jobPages"
import { makeJob } from "./testing"

const listed = { pages: [{ items: [makeJob({ id: "a", seq: 5 }), makeJob({ id: "b" })], next_cursor: null }], pageParams: [null] }
const statuses = (data: typeof listed) => data.pages[0]!.items.map(({ status }) => status)

it("puts the later state of a job in its place", () => {
  expect(statuses(withChangedJob(listed, makeJob({ id: "a", seq: 6, status: "succeeded" })))).toEqual(["succeeded", "running"])
})

it("does not go back to an earlier state", () => {
  expect(statuses(withChangedJob(listed, makeJob({ id: "a", seq: 4, status: "queued" })))).toEqual(["running", "running"])
})

it("leaves pages alone that do not have the job", () => {
  expect(withChangedJob(listed, makeJob({ id: "c" }))).toBe(listed)
})
