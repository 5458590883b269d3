import { expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { listed, newcomers, withChangedJob, withoutJobs, type JobPages } from "./jobPages"
import { readView } from "./jobView"

const read_at = "2026-01-10T12:30:00.5Z"
const asked = Date.parse(read_at)
const [heard, earlier] = [asked + 1000, asked - 1000]
const before: JobPages = {
  pages: [
    { items: [makeJob({ id: "a", seq: 5 }), makeJob({ id: "b" })], next_cursor: "more", total: 3, read_at, asked },
    { items: [makeJob({ id: "b" }), makeJob({ id: "d" })], next_cursor: null, total: null, read_at, asked },
  ],
  pageParams: [null, "more"],
}
const statuses = (data: JobPages) => data.pages[0]!.items.map(({ status }) => status)
const anything = readView(new URLSearchParams())

it("puts the later state of a job in its place", () => {
  expect(statuses(withChangedJob(before, makeJob({ id: "a", seq: 6, status: "succeeded" })))).toEqual(["succeeded", "running"])
})

it("does not go back to an earlier state", () => {
  expect(statuses(withChangedJob(before, makeJob({ id: "a", seq: 4, status: "queued" })))).toEqual(["running", "running"])
})

it("leaves pages alone that do not have the job", () => {
  expect(withChangedJob(before, makeJob({ id: "c" }))).toBe(before)
  expect(withoutJobs(before, new Set(["c"]))).toBe(before)
})

it("shows a job once, though it stands on two pages", () => {
  expect(listed(before).map(({ id }) => id)).toEqual(["a", "b", "d"])
})

it("takes deleted jobs out and counts them off", () => {
  const after = withoutJobs(before, new Set(["a"]))
  expect(listed(after).map(({ id }) => id)).toEqual(["b", "d"])
  expect(after.pages.map(({ total }) => total)).toEqual([2, null])
})

it("tells of jobs that were submitted since, not of those further down", () => {
  const [late, old] = [makeJob({ id: "new", created_at: "2026-01-10T12:30:01Z" }), makeJob({ id: "old", created_at: "2026-01-09T00:00:00Z" })]
  const changes = [late, old, makeJob({ id: "a" })].map((job) => ({ job, before: undefined, heard }))
  expect(newcomers(changes, anything, before)).toEqual([late])
  expect(newcomers(changes, { ...anything, q: "words" }, before)).toEqual([])
  expect(newcomers(changes, anything, undefined)).toEqual([])
})

it("tells of jobs that have changed into a status that is asked for", () => {
  const failed = makeJob({ id: "x", status: "failed" })
  const query = readView(new URLSearchParams("status=failed"))
  expect(newcomers([{ job: failed, before: "running", heard }], query, before)).toEqual([failed])
  expect(newcomers([{ job: failed, before: undefined, heard }], query, before)).toEqual([])
})

it("tells nothing twice: what had changed before the list was read stands further down in it", () => {
  const failed = makeJob({ id: "x", status: "failed" })
  const query = readView(new URLSearchParams("status=failed"))
  expect(newcomers([{ job: failed, before: "running", heard: earlier }], query, before)).toEqual([])
})
