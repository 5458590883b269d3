import type { WorkerLoad } from "@/client"
import { formatPercent } from "@/lib/format"

/** Shares of their time in which workers wait differ by chance, if by less than this. */
const ALIKE = 0.05

type Waiting = Pick<WorkerLoad, "label" | "compute" | "data" | "send" | "wait">

/** The sentence on the workers that waited for others: the slowest waits least. Empty without two workers. */
export function waitedFor(workers: readonly Waiting[]): string {
  const shares = workers.map(({ label, compute, data, send, wait }) => ({ label, share: wait / (compute + data + send + wait) })).filter(({ share }) => Number.isFinite(share))
  if (shares.length < 2) return ""
  const sorted = shares.toSorted((a, b) => a.share - b.share)
  const [least, most] = [sorted[0]!, sorted.at(-1)!]
  const mean = shares.reduce((sum, { share }) => sum + share, 0) / shares.length
  if (most.share - least.share < ALIKE) return `All workers waited about alike, ${formatPercent(mean, 0)} of their time.`
  return `Others waited for ${least.label}, which itself waited ${formatPercent(least.share, 0)} of its time; ${most.label} waited most, ${formatPercent(most.share, 0)}.`
}
