import type { Overview } from "@/client"
import { formatAccuracy, formatDuration, formatNumber } from "@/lib/format"

type Best = Overview["best"][number]

/** The evaluated metric that stands for the job: the one by which it is judged, or the first by name; null where none has been measured. */
export function judgedBy(evaluation: Readonly<Record<string, unknown>>, main: string | null): string | null {
  const names = Object.keys(evaluation).sort()
  return main !== null && names.includes(main) ? main : (names[0] ?? null)
}

/** "97.1 %", "0.0812" */
export function formatEvaluated(name: string, value: number | null | undefined, digits = 3): string {
  return name === "accuracy" ? formatAccuracy(value, digits - 2) : formatNumber(value, digits)
}

/** "after 12.3k samples, 1 min 4 s" */
export function whenBest({ samples, after, attempt }: Best): string {
  const words = [`after ${formatNumber(samples)} samples`, after === null ? "" : formatDuration(after), attempt > 1 ? `attempt ${attempt}` : ""]
  return words.filter(Boolean).join(", ")
}
