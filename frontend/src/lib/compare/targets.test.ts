import { expect, it } from "vitest"
import type { JobTarget } from "@/client"
import { byCost, coarseness, timesOf } from "./targets"

function target(name: string, costs: { seconds: number; samples: number; sent_bytes: number } | null): JobTarget {
  const reached = costs && { ...costs, value: 0.9, time: 0, samples_before: null, step: 1, version: 1, attempt: 1, source: "evaluator", rank: -1 }
  return { job: name, name, strategy: "sync", status: "running", reached, best: 0.5 }
}

const items = [target("never", null), target("a", { seconds: 10, samples: 900, sent_bytes: 0 }), target("b", { seconds: 25, samples: 300, sent_bytes: 0 })]

it("has the cheapest first, and those that never reached it last", () => {
  expect(byCost(items, "seconds").map(({ name }) => name)).toEqual(["a", "b", "never"])
  expect(byCost(items, "samples").map(({ name }) => name)).toEqual(["b", "a", "never"])
})

it("tells how many times what the cheapest took", () => {
  const [, a, b] = items
  expect(timesOf(b!.reached!, items, "seconds")).toBe("× 2.50")
  expect(timesOf(a!.reached!, items, "seconds")).toBe("")
  expect(timesOf(b!.reached!, items, "sent_bytes")).toBe("")
})

it("says when the evaluation before is far away", () => {
  const reached = items[1]!.reached!
  expect(coarseness(reached)).toBe("some time after 0")
  expect(coarseness({ ...reached, samples_before: 500 })).toBe("some time after 500")
  expect(coarseness({ ...reached, samples_before: 880 })).toBe("")
})
