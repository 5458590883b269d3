// @vitest-environment happy-dom
import { beforeEach, afterEach, describe, expect, it, vi } from "vitest"
import { FakeSource } from "./fakeSource"
import { followStream, SILENCE_MS, type Connection, type StreamMessage } from "./stream"

let messages: StreamMessage[]
let connections: Connection[]
let stop: () => void
const last = () => FakeSource.opened.at(-1)!

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal("EventSource", FakeSource)
  FakeSource.opened = []
  messages = []
  connections = []
  stop = followStream({
    url: (after) => `/stream?after=${after}`,
    after: 7,
    events: ["event"],
    onMessage: (message) => messages.push(message),
    onConnection: (connection) => connections.push(connection),
  })
})

afterEach(() => {
  stop()
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe("followStream", () => {
  it("begins where it is told to and is live once open", () => {
    expect(last().url).toBe("/stream?after=7")
    last().onopen?.()
    last().send("event", "8", { kind: "status" })
    expect(messages).toEqual([{ event: "event", data: { kind: "status" } }])
    expect(connections).toEqual(["connecting", "live"])
  })

  it("continues after the last id when the connection is lost", () => {
    last().send("event", "9", 1)
    last().onerror?.()
    expect(connections.at(-1)).toBe("reconnecting")
    vi.advanceTimersByTime(250)
    expect(FakeSource.opened).toHaveLength(2)
    expect(FakeSource.opened[0]!.closed).toBe(true)
    expect(last().url).toBe("/stream?after=9")
  })

  it("takes a connection that says nothing for dead, and one that says that it is alive for alive", () => {
    last().onopen?.()
    vi.advanceTimersByTime(SILENCE_MS - 1)
    last().send("alive", "", {})
    vi.advanceTimersByTime(SILENCE_MS - 1)
    expect(connections.at(-1)).toBe("live")
    expect(messages).toEqual([])
    vi.advanceTimersByTime(1)
    expect(connections.at(-1)).toBe("reconnecting")
    expect(last().closed).toBe(true)
  })

  it("skips what it has seen", () => {
    last().send("event", "8", "a")
    last().send("event", "8", "a")
    last().send("event", "5", "old")
    expect(messages).toHaveLength(1)
  })

  it("reconnects when the server says that it closes", () => {
    last().send("closing", "", {})
    vi.advanceTimersByTime(250)
    expect(FakeSource.opened).toHaveLength(2)
  })

  it("waits longer from failure to failure, and forgets them once open", () => {
    last().onerror?.()
    vi.advanceTimersByTime(250)
    last().onerror?.()
    vi.advanceTimersByTime(250)
    expect(FakeSource.opened).toHaveLength(2)
    vi.advanceTimersByTime(250)
    expect(FakeSource.opened).toHaveLength(3)
    last().onopen?.()
    last().onerror?.()
    vi.advanceTimersByTime(250)
    expect(FakeSource.opened).toHaveLength(4)
  })

  it("opens nothing after it was stopped", () => {
    last().onerror?.()
    stop()
    vi.advanceTimersByTime(10_000)
    expect(FakeSource.opened).toHaveLength(1)
  })
})
