import type { Node } from "@/client"
import { counted } from "@/lib/format"

/** "4 of 8 slots are in use; 1 node draining": a node that drains counts while jobs hold slots of it. */
export function slotsInUse(all: readonly Pick<Node, "status" | "draining_since" | "slots" | "slots_used">[]): string {
  const nodes = all.filter(({ status, draining_since, slots_used }) => status === "ready" && (draining_since === null || slots_used > 0))
  const [slots, used] = [nodes.reduce((sum, node) => sum + node.slots, 0), nodes.reduce((sum, node) => sum + node.slots_used, 0)]
  const draining = nodes.filter(({ draining_since }) => draining_since !== null).length
  return `${used} of ${slots} slots are in use${draining > 0 ? `; ${counted(draining, "node")} draining` : ""}`
}
