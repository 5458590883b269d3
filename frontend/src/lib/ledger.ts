/** What became of the pushes of a worker, over all attempts. */
export interface Account {
  rank: number
  /** Posted: those of the live attempt and the cut it came from, and those that were undone. */
  pushed: number
  applied: number
  buffered: number
  dropped: number
  pending: number
  undone: number
  /** pushed - applied - buffered - dropped - pending - undone: 0, or something is missing. */
  missing: number
}

export const FATES = ["applied", "buffered", "dropped", "pending", "undone"] as const

/** Latest values by worker, as the ledger's metrics tell them. The servers' own count begins anew from a cut, so what was undone is added to it. */
export function accounts(latest: Record<"pushed" | (typeof FATES)[number], ReadonlyMap<number, number>>): Account[] {
  return [...latest.pushed.keys()]
    .sort((a, b) => a - b)
    .map((rank) => {
      const of = (name: keyof typeof latest) => latest[name].get(rank) ?? 0
      const [applied, buffered, dropped, pending, undone] = FATES.map(of) as [number, number, number, number, number]
      const pushed = of("pushed") + undone
      return { rank, pushed, applied, buffered, dropped, pending, undone, missing: pushed - applied - buffered - dropped - pending - undone }
    })
}
