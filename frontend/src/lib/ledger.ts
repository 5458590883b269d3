import type { Account } from "@/client"

/** What became of the pushes of a worker, over all attempts. */
export interface WorkerAccount extends Account {
  rank: number
  /** pushed less all that is known of them: 0, or something is missing. */
  missing: number
}

/** What can become of a push, and what that means. */
export const FATES = [
  { name: "applied", meaning: "changed the center" },
  { name: "buffered", meaning: "kept for a later step of the server" },
  { name: "dropped", meaning: "too stale, beyond the quorum, or not finite" },
  { name: "pending", meaning: "waiting for their round to close" },
  { name: "undone", meaning: "by a return to a cut" },
] as const

export type Fate = (typeof FATES)[number]["name"]

/** Latest values by worker, as the ledger's metrics tell them. The servers' own count begins anew from a cut, so what was undone is added to it. */
export function accounts(latest: Record<"pushed" | Fate, ReadonlyMap<number, number>>): WorkerAccount[] {
  return [...latest.pushed.keys()]
    .sort((a, b) => a - b)
    .map((rank) => {
      const of = (name: keyof typeof latest) => latest[name].get(rank) ?? 0
      const [applied, buffered, dropped, pending, undone] = FATES.map(({ name }) => of(name)) as [number, number, number, number, number]
      const pushed = of("pushed") + undone
      return { rank, pushed, applied, buffered, dropped, pending, undone, missing: pushed - applied - buffered - dropped - pending - undone }
    })
}
