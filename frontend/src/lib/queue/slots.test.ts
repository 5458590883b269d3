import { expect, it } from "vitest"
import { slotsInUse } from "./slots"

const node = { status: "ready", draining_since: null, slots: 4, slots_used: 0 } as const

it("counts the slots that jobs hold on a node that drains", () => {
  const draining = { ...node, draining_since: "2026-01-10T12:00:00Z", slots_used: 4 }
  expect(slotsInUse([draining])).toBe("4 of 4 slots are in use; 1 node draining")
  expect(slotsInUse([draining, { ...node, slots_used: 1 }])).toBe("5 of 8 slots are in use; 1 node draining")
})

it("leaves out nodes that take no job and hold none", () => {
  const drained = { ...node, draining_since: "2026-01-10T12:00:00Z" }
  expect(slotsInUse([node, drained, { ...node, status: "lost" }])).toBe("0 of 4 slots are in use")
})
