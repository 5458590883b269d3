import { describe, expect, it } from "vitest"
import { makeJob } from "@/lib/testing"
import { describeTimeLeft, phases, secondsLeft, share } from "./progress"

const { progress } = makeJob()

describe("share", () => {
  it("is what was trained of what will be", () => {
    expect(share(makeJob({ progress: { ...progress, samples: 250, total_samples: 1000 } }))).toBe(0.25)
  })

  it("counts mini-batches whose pushes were dropped as trained", () => {
    expect(share(makeJob({ progress: { ...progress, samples: 100, total_samples: 1000, done: 0.5 } }))).toBe(0.5)
  })

  it("is never whole before the job has ended", () => {
    const all = { ...progress, samples: 1000, total_samples: 1000, done: 1 }
    expect(share(makeJob({ progress: all }))).toBe(0.99)
    expect(share(makeJob({ progress: { ...all, samples: 999, done: 0.999 } }))).toBe(0.99)
    expect(share(makeJob({ progress: all, status: "succeeded" }))).toBe(1)
  })

  it("is unknown without a total, and whole for a job that succeeded before it", () => {
    const without = { ...progress, samples: 250, total_samples: null }
    expect(share(makeJob({ progress: without }))).toBeNull()
    expect(share(makeJob({ progress: without, status: "succeeded" }))).toBe(1)
  })
})

describe("secondsLeft", () => {
  const going = { ...progress, samples: 600, total_samples: 1000, samples_per_second: 50, seconds_left: 1000 }

  it("is the slowest worker's, which the server knows, whatever the speed of all is", () => {
    expect(secondsLeft(makeJob({ progress: going }))).toBe(1000)
  })

  it("is not guessed for a job that does not run or has no speed yet", () => {
    expect(secondsLeft(makeJob({ progress: going, status: "stopping" }))).toBeNull()
    expect(secondsLeft(makeJob({ progress: { ...going, seconds_left: null } }))).toBeNull()
  })
})

describe("phases", () => {
  const states = (over: Parameters<typeof makeJob>[0]) => phases(makeJob(over)).map(({ state }) => state)
  const trained = { ...progress, first_step_at: "2026-01-10T12:00:05Z" }

  it("follows the job", () => {
    expect(states({ status: "queued", started_at: null })).toEqual(["now", "next", "next"])
    expect(states({ status: "starting" })).toEqual(["done", "now", "next"])
    expect(states({ progress: trained })).toEqual(["done", "done", "now"])
    expect(states({ status: "succeeded", progress: trained, ended_at: "2026-01-10T12:01:00Z" })).toEqual(["done", "done", "done"])
  })

  it("skips what a job that ended early never reached", () => {
    expect(states({ status: "failed", ended_at: "2026-01-10T12:01:00Z" })).toEqual(["done", "done", "skipped"])
  })

  it("knows when each began and ended", () => {
    const [queued] = phases(makeJob())
    expect(queued!.to! - queued!.from!).toBe(2000)
  })
})

describe("describeTimeLeft", () => {
  const left = (seconds_left: number, seconds_left_low: number | null = null, seconds_left_high: number | null = null) =>
    describeTimeLeft(makeJob({ status: "running", progress: { ...progress, seconds_left, seconds_left_low, seconds_left_high } }))

  it("is a range where the speeds vary", () => {
    expect(left(240, 180, 300)).toBe("3 to 5 min left")
    expect(left(100, 50, 160)).toBe("50 s to 3 min left")
  })

  it("is one figure where both ends round to the same, or are not known", () => {
    expect(left(240, 235, 245)).toBe("about 4 min left")
    expect(left(240)).toBe("about 4 min left")
    expect(left(0.5, 0.2, 0.9)).toBe("finishing")
    expect(describeTimeLeft(makeJob({ progress: { ...progress, seconds_left: 5 }, status: "stopping" }))).toBeNull()
  })
})
