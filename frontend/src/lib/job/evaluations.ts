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

/** The best value, and its time. The latest one may be better: it comes at once, and the overview is read every two seconds. */
export function bestOf(best: Best, latest: number | null | undefined): { value: number; when: string; version: number | null } {
  const isBetter = latest != null && (best.higher_is_better ? latest > best.value : latest < best.value)
  return isBetter ? { value: latest, when: "just now", version: null } : { value: best.value, when: whenBest(best), version: best.version }
}

/** "after 12.3k samples, 1 min 4 s" */
export function whenBest({ samples, after, attempt }: Best): string {
  const words = [`after ${formatNumber(samples)} samples`, after === null ? "" : formatDuration(after), attempt > 1 ? `attempt ${attempt}` : ""]
  return words.filter(Boolean).join(", ")
}
