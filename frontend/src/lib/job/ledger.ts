import type { Account } from "@/client"
import { counted, formatCount } from "@/lib/format"

/** Outcomes of a worker's pushes, over all attempts. */
export interface WorkerAccount extends Omit<Account, (typeof REASONS)[number]["name"]> {
  rank: number
  /** pushed less all that is known of them: 0, or something is missing. */
  missing: number
}

/** Outcomes of a push, with their meaning. */
export const OUTCOMES = [
  { name: "applied", meaning: "changed the center" },
  { name: "deferred", meaning: "kept for a later step of the server" },
  { name: "dropped", meaning: "no effect on the model" },
  { name: "pending", meaning: "waiting for their round to close" },
  { name: "rolled_back", meaning: "removed by a return to a checkpoint" },
] as const

/** Why a push was dropped. */
export const REASONS = [
  { name: "dropped_stale", meaning: "too stale" },
  { name: "dropped_quorum", meaning: "arrived after the quorum" },
  { name: "dropped_not_finite", meaning: "NaN or infinite" },
  { name: "dropped_superseded", meaning: "from a replaced worker" },
] as const

type Counted = "dropped" | (typeof REASONS)[number]["name"]

/** "12 too stale, 3 NaN or infinite" */
export function whyDropped(account: Record<Counted, number>): string {
  const known = REASONS.filter(({ name }) => account[name] > 0)
  return known.map(({ name, meaning }) => `${formatCount(account[name])} ${meaning}`).join(", ") || (account.dropped > 0 ? "the reason was not recorded" : "no effect on the model")
}

/** "128 pushes, all applied."; "128 pushes: 120 applied, 8 pending." */
export function ledgerInShort(account: Pick<Account, "pushed" | PushOutcome>): string {
  const pushes = counted(account.pushed, "push", "pushes")
  if (account.applied === account.pushed) return `${pushes}, all applied.`
  const known = OUTCOMES.filter(({ name }) => account[name] > 0)
  return `${pushes}: ${known.map(({ name }) => `${formatCount(account[name])} ${outcomeTitle(name)}`).join(", ")}.`
}

/** Why there is no ledger yet. A center that has a version has been pushed to. */
export function noLedger(version: number, nothing: (said: string) => string): string {
  return version > 0 ? "The servers count the pushes once a second." : nothing("Nothing has been pushed")
}

export type PushOutcome = (typeof OUTCOMES)[number]["name"]

/** "rolled back" */
export function outcomeTitle(name: PushOutcome): string {
  return name.replace("_", " ")
}

/** Latest values by worker, as the ledger's metrics tell them. The servers' own count begins anew from a checkpoint, so the pushes that were rolled back are added to it. */
export function accounts(latest: Record<"pushed" | PushOutcome, ReadonlyMap<number, number>>): WorkerAccount[] {
  return [...latest.pushed.keys()]
    .sort((a, b) => a - b)
    .map((rank) => {
      const of = (name: keyof typeof latest) => latest[name].get(rank) ?? 0
      const [applied, deferred, dropped, pending, rolledBack] = OUTCOMES.map(({ name }) => of(name)) as [number, number, number, number, number]
      const pushed = of("pushed") + rolledBack
      const missing = pushed - applied - deferred - dropped - pending - rolledBack
      return { rank, pushed, applied, deferred, dropped, pending, rolled_back: rolledBack, missing }
    })
}
