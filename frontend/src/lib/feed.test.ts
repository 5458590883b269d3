import { describe, expect, it } from "vitest"
import { emptyFeed, mergeBySeq, mergeProcesses, reduceFeed, type Feed } from "./feed"
import { makeBatch, makeEvent, makeJob, makeLog, makeProcess } from "./testing"

const feed = emptyFeed(makeJob())
const play = (start: Feed, ...messages: [string, unknown][]) => messages.reduce((f, [event, data]) => reduceFeed(f, { event, data }), start)

describe("reduceFeed", () => {
  it("replaces the job by its later state", () => {
    expect(play(feed, ["job", makeJob({ status: "succeeded" })]).job.status).toBe("succeeded")
  })

  it("sorts points by metric, source and worker", () => {
    const points = [["train/loss", 0, 1, 32, 1, 1000, 2.3], ["train/staleness", 0, 1, 32, 1, 1000, 1], ["train/loss", 0, 2, 64, 2, 1001, null]]
    const { series } = play(feed, ["metrics", makeBatch({ points: points as never })], ["metrics", makeBatch({ source: "worker-1", points: [["train/loss", 1, 1, 32, 1, 1000, 2.2]] })])
    expect(series["train/loss"]!.map((s) => [s.source, s.points.map((p) => p.value)])).toEqual([["worker-0", [2.3, NaN]], ["worker-1", [2.2]]])
    expect(series["train/staleness"]![0]!.points).toHaveLength(1)
  })

  it("thins a series that grows without end", () => {
    const points = Array.from({ length: 7000 }, (_, i) => ["train/loss", 0, i, i, i, i, i])
    const series = play(feed, ["metrics", makeBatch({ points: points as never })]).series["train/loss"]![0]!
    expect(series.points.length).toBeLessThan(4000)
    expect(series.points.at(-1)!.step).toBe(6999)
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
