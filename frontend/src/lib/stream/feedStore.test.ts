// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { FakeSource } from "./fakeSource"
import { FeedStore } from "./feedStore"
import { makeEvent, makeJob, makeTick } from "@/lib/testing"

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal("EventSource", FakeSource)
  FakeSource.opened = []
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const open = async () => {
  const store = new FeedStore(makeJob({ seq: 40 }), (after) => `/stream?after=${after}`)
  const stop = store.follow()
  await vi.advanceTimersByTimeAsync(0)
  return { store, stop, source: () => FakeSource.opened.at(-1)! }
}

it("follows from the state in which the job was read", async () => {
  const { source, stop } = await open()
  expect(source().url).toBe("/stream?after=40")
  stop()
})

it("tells its listeners once about what came together", async () => {
  const { store, source, stop } = await open()
  const listener = vi.fn()
  store.subscribe(listener)
  source().send("event", "41", makeEvent(41))
  source().send("event", "42", makeEvent(42))
  expect(listener).not.toHaveBeenCalled()
  vi.advanceTimersByTime(50)
  expect(listener).toHaveBeenCalledTimes(1)
  expect(store.get().events).toHaveLength(2)
  stop()
})

it("gives metrics to those who draw them, and to nobody else", async () => {
  const { store, source, stop } = await open()
  const [listener, chart] = [vi.fn(), vi.fn()]
  store.subscribe(listener)
  store.live.subscribe("train/loss", chart)
  source().send("metrics", "41", makeTick(41))
  vi.advanceTimersByTime(50)
  expect(chart).toHaveBeenCalledTimes(1)
  expect(listener).not.toHaveBeenCalled()
  stop()
})

it("begins anew, with nothing doubled, when it is followed again", async () => {
  const { store, source, stop } = await open()
  source().send("metrics", "42", makeTick(42))
  vi.advanceTimersByTime(50)
  stop()
  const stopAgain = store.follow()
  await vi.advanceTimersByTimeAsync(0)
  source().send("metrics", "42", makeTick(42))
  vi.advanceTimersByTime(50)
  expect([...store.live.of("train/loss")].map(({ ticks }) => ticks.length)).toEqual([1])
  stopAgain()
})

it("drops what was waiting when it is stopped", async () => {
  const { store, source, stop } = await open()
  source().send("event", "41", makeEvent(41))
  stop()
  vi.advanceTimersByTime(1000)
  expect(store.get().events).toHaveLength(0)
})
