// @vitest-environment happy-dom
import { beforeEach, afterEach, describe, expect, it, vi } from "vitest"
import { FakeSource } from "./fakeSource"
import { followStream, SILENCE_MS, type Connection, type StreamMessage } from "./stream"

let messages: StreamMessage[]
let connections: Connection[]
let stop: () => void
const last = () => FakeSource.opened.at(-1)!
const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(async () => {
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
  await passed(0)
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

  it("continues after the last id when the connection is lost", async () => {
    last().send("event", "9", 1)
    last().onerror?.()
    expect(connections.at(-1)).toBe("reconnecting")
    await passed(250)
    expect(FakeSource.opened).toHaveLength(2)
    expect(FakeSource.opened[0]!.closed).toBe(true)
    expect(last().url).toBe("/stream?after=9")
  })

  it("takes a connection that says nothing for dead, and one that says that it is alive for alive", async () => {
    last().onopen?.()
    await passed(SILENCE_MS - 1)
    last().send("alive", "", {})
    await passed(SILENCE_MS - 1)
    expect(connections.at(-1)).toBe("live")
    expect(messages).toEqual([])
    await passed(1)
    expect(connections.at(-1)).toBe("reconnecting")
    expect(last().closed).toBe(true)
  })

  it("skips what it has seen", () => {
    last().send("event", "8", "a")
    last().send("event", "8", "a")
    last().send("event", "5", "old")
    expect(messages).toHaveLength(1)
  })

  it("reconnects when the server says that it closes", async () => {
    last().send("closing", "", {})
    await passed(250)
    expect(FakeSource.opened).toHaveLength(2)
  })

  it("waits longer from failure to failure, and forgets them once open", async () => {
    last().onerror?.()
    await passed(250)
    last().onerror?.()
    await passed(250)
    expect(FakeSource.opened).toHaveLength(2)
    await passed(250)
    expect(FakeSource.opened).toHaveLength(3)
    last().onopen?.()
    last().onerror?.()
    await passed(250)
    expect(FakeSource.opened).toHaveLength(4)
  })

  it("looks again when the browser loses its network, and at once when it has one", async () => {
    last().onopen?.()
    window.dispatchEvent(new Event("offline"))
    expect(connections.at(-1)).toBe("reconnecting")
    await passed(250)
    for (const pause of [500, 1000, 2000, 4000]) {
      last().onerror?.()
      await passed(pause)
    }
    last().onerror?.()
    const before = FakeSource.opened.length
    window.dispatchEvent(new Event("online"))
    await passed(0)
    expect(FakeSource.opened).toHaveLength(before + 1)
    last().onopen?.()
    expect(connections.at(-1)).toBe("live")
  })

  it("opens nothing after it was stopped", async () => {
    last().onerror?.()
    stop()
    await passed(10_000)
    expect(FakeSource.opened).toHaveLength(1)
  })

  it("opens nothing if it was stopped while it asked whether it may stay open", async () => {
    stop()
    FakeSource.opened = []
    const opened: string[] = []
    followStream({ url: () => "/other", after: 0, events: [], onMessage: () => undefined, onConnection: (now) => opened.push(now) })()
    await passed(10_000)
    expect(FakeSource.opened).toHaveLength(0)
    expect(opened).toEqual(["connecting"])
  })
})

describe("of many streams", () => {
  let stops: (() => void)[]
  const open = async () => {
    const mine = { got: [] as unknown[], connections: [] as Connection[], from: FakeSource.opened.length }
    stops.push(
      followStream({
        url: (after) => `/many?after=${after}`,
        after: 0,
        events: ["event"],
        onMessage: ({ data }) => mine.got.push(data),
        onConnection: (connection) => mine.connections.push(connection),
      }),
    )
    await passed(0)
    last().onopen?.()
    return mine
  }
  const openConnections = () => FakeSource.opened.filter(({ closed }) => !closed).length

  beforeEach(() => {
    stop()
    stops = []
    FakeSource.opened = []
    vi.stubGlobal("navigator", { locks: new Places() })
  })
  afterEach(() => stops.forEach((each) => each()))

  it("four stay open; each other comes back for a moment, is still live and misses nothing", async () => {
    for (let tab = 0; tab < 4; tab++) await open()
    const fifth = await open()
    last().send("event", "7", "one")
    await passed(499)
    last().send("event", "8", "two")
    await passed(499)
    expect(openConnections()).toBe(5)
    await passed(1)
    expect(openConnections()).toBe(4)
    await passed(2000)
    expect(openConnections()).toBe(5)
    expect(last().url).toBe("/many?after=8")
    last().send("event", "9", "three")
    expect(fifth.got).toEqual(["one", "two", "three"])
    expect(fifth.connections).toEqual(["connecting", "live"])
  })

  it("none of the others talks for ever, and they come one after the other", async () => {
    for (let tab = 0; tab < 4; tab++) await open()
    const [fifth, sixth] = [await open(), await open()]
    const talking = FakeSource.opened.at(-1)!
    expect(openConnections()).toBe(5)
    for (let word = 1; word <= 4; word++) {
      talking.send("event", String(word), word)
      await passed(250)
    }
    expect(talking.closed).toBe(true)
    expect(fifth.got).toEqual([1, 2, 3, 4])
    expect(openConnections()).toBe(5)
    expect(last()).not.toBe(talking)
    last().onopen?.()
    last().send("event", "1", "its turn")
    expect(sixth.got).toEqual(["its turn"])
    expect(openConnections()).toBe(5)
  })

  it("one that ends gives its place to the next that asks", async () => {
    for (let tab = 0; tab < 5; tab++) await open()
    stops[0]!()
    await passed(1999)
    expect(openConnections()).toBe(4)
    await passed(1 + 2000)
    last().onopen?.()
    await passed(20_000)
    expect(openConnections()).toBe(4)
    expect(last().closed).toBe(false)
  })

  it("one that nobody looks at closes, and is there at once when somebody does", async () => {
    const look = (state: DocumentVisibilityState) => {
      vi.spyOn(document, "visibilityState", "get").mockReturnValue(state)
      document.dispatchEvent(new Event("visibilitychange"))
    }
    await open()
    look("hidden")
    expect(openConnections()).toBe(0)
    await passed(2000)
    last().onopen?.()
    expect(openConnections()).toBe(1)
    last().send("event", "1", "one")
    await passed(500)
    expect(openConnections()).toBe(0)
    look("visible")
    await passed(0)
    last().onopen?.()
    await passed(20_000)
    expect(openConnections()).toBe(1)
  })
})

/** Stands where the browser's own locks would. */
class Places {
  private readonly taken = new Map<string, Promise<void>>()

  async request(name: string, { ifAvailable }: LockOptions, run: (lock: Lock | null) => Promise<void> | undefined) {
    if (ifAvailable && this.taken.has(name)) return run(null)
    const before = this.taken.get(name)
    const mine = (async () => {
      await before
      await run({ name, mode: "exclusive" })
    })()
    this.taken.set(name, mine)
    await mine
    if (this.taken.get(name) === mine) this.taken.delete(name)
  }
}
