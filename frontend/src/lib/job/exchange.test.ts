import { describe, expect, it } from "vitest"
import { makeExchange } from "@/lib/testing"
import { balance, emptyShards, savedShare, timeOfPush } from "./exchange"

describe("timeOfPush", () => {
  it("splits the time into shares that make one", () => {
    const parts = timeOfPush(makeExchange({ compute: 0.006, data: 0.001, send: 0.001, wait: 0.002 }))
    expect(parts.map(({ name }) => name)).toEqual(["Compute", "Data", "Send", "Wait"])
    expect(parts.map(({ share }) => Math.round(100 * share))).toEqual([60, 10, 10, 20])
  })

  it("has no shares where no time was measured", () => {
    expect(timeOfPush(makeExchange({ compute: 0, data: 0, send: 0, wait: 0 })).map(({ share }) => share)).toEqual([0, 0, 0, 0])
  })
})

describe("savedShare", () => {
  it("is what the codec takes away from the bytes", () => {
    expect(savedShare(makeExchange({ sent_bytes: 250, raw_bytes: 1000 }))).toBe(0.75)
  })

  it("may be below nothing, for a codec that writes more than there was", () => {
    expect(savedShare(makeExchange({ sent_bytes: 1100, raw_bytes: 1000 }))).toBeCloseTo(-0.1)
  })

  it("is not known where nothing is sent", () => {
    expect(savedShare(makeExchange({ sent_bytes: 0, raw_bytes: 0 }))).toBeNull()
  })
})

describe("balance", () => {
  const loads = (...busy: (number | null)[]) => busy.map((share, rank) => ({ rank, slice_bytes: 4096, apply: 0.01, queue: 0, busy: share }))

  it("is whole where all shards work as much", () => {
    expect(balance(loads(0.4, 0.4))).toBe(1)
  })

  it("falls with the one that works most", () => {
    expect(balance(loads(0.1, 0.1, 0.4))).toBeCloseTo(0.5)
  })

  it("is nothing to ask of one shard, or before the first report", () => {
    expect(balance(loads(0.4))).toBeNull()
    expect(balance(loads(null, null))).toBeNull()
    expect(balance([])).toBeNull()
  })
})

it("leaves shards that hold nothing out of the balance, and names them", () => {
  const shard = { apply: null, queue: null }
  const shards = [{ rank: 0, slice_bytes: 0, busy: 0.9, ...shard }, { rank: 1, slice_bytes: 648, busy: 0.8, ...shard }]
  expect(balance(shards)).toBeNull()
  expect(emptyShards(shards)).toEqual([0])
})
