import type { JobTarget } from "@/client"
import { formatBytes, formatCount, formatDuration } from "@/lib/format"

type Reached = NonNullable<JobTarget["reached"]>

export type Cost = "seconds" | "samples" | "sent_bytes"

/** Costs of reaching a target. */
export const COSTS: readonly { key: Cost; label: string; format: (value: number) => string }[] = [
  { key: "seconds", label: "Time", format: formatDuration },
  { key: "samples", label: "Samples", format: formatCount },
  { key: "sent_bytes", label: "Bytes sent", format: formatBytes },
]

/** The cheapest first, those that never reached it last. */
export function byCost(items: readonly JobTarget[], cost: Cost): JobTarget[] {
  const price = ({ reached }: JobTarget) => reached?.[cost] ?? Infinity
  return [...items].sort((a, b) => (price(a) === price(b) ? 0 : price(a) - price(b)))
}

/** How many times what the cheapest took; nothing for the cheapest itself. */
export function timesOf(reached: Reached, items: readonly JobTarget[], cost: Cost): string {
  const least = Math.min(...items.map((item) => item.reached?.[cost] ?? Infinity))
  return reached[cost] > least && least > 0 ? `× ${(reached[cost] / least).toPrecision(3)}` : ""
}

/** Said when more than a fifth of the samples lies between the point that reached the target and the one before it. */
export function coarseness({ samples, samples_before }: Reached): string {
  const before = samples_before ?? 0
  return samples - before > samples / 5 ? `some time after ${formatCount(before)}` : ""
}
