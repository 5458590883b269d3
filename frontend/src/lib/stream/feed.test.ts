import { describe, expect, it } from "vitest"
import { makeEvent, makeJob, makeLog, makeProcess } from "@/lib/testing"
import { emptyFeed, mergeBySeq, mergeProcesses, reduceFeed, type Feed } from "./feed"

const feed = emptyFeed(makeJob())
const play = (start: Feed, ...messages: [string, unknown][]) => messages.reduce((f, [event, data]) => reduceFeed(f, { event, data }), start)

describe("reduceFeed", () => {
  it("replaces the job by its later state", () => {
    expect(play(feed, ["job", makeJob({ status: "succeeded" })]).job.status).toBe("succeeded")
  })

  it("notes that the job was deleted", () => {
    expect(play(feed, ["gone", { id: feed.job.id }]).gone).toBe(true)
  })

  it("leaves everything as it is for an event that it does not know", () => {
    expect(play(feed, ["comet", {}])).toBe(feed)
  })
})

it("has each event and log chunk once and in order, when what was read overlaps with the stream", () => {
  const streamed = play(feed, ["event", makeEvent(3)], ["log", makeLog(12)])
  expect(mergeBySeq([makeEvent(1), makeEvent(3)], streamed.events).map((e) => e.seq)).toEqual([1, 3])
  expect(mergeBySeq([makeLog(11), makeLog(12)], streamed.logs).map((l) => l.seq)).toEqual([11, 12])
})

it("keeps the later state of a process, whichever came first", () => {
  const streamed = play(feed, ["process", makeProcess({ seq: 9, status: "exited" })])
  expect(mergeProcesses(streamed.processes, [makeProcess({ seq: 4, status: "running" })]).map((p) => p.status)).toEqual(["exited"])
})

it("lists processes of the latest attempt first, workers before servers before the evaluator", () => {
  const processes = mergeProcesses([], [
    makeProcess({ id: "e", role: "evaluator", rank: -1 }),
    makeProcess({ id: "s", role: "server" }),
    makeProcess({ id: "w1", rank: 1 }),
    makeProcess({ id: "w0" }),
    makeProcess({ id: "later", attempt: 2, role: "server" }),
  ])
  expect(processes.map((p) => p.id)).toEqual(["later", "w0", "w1", "s", "e"])
})
