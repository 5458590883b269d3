import type { JobSpec } from "@/client"
import { formatNumber } from "./format"
import type { Threshold } from "./lines"

const TITLES: Record<string, string> = {
  "train/loss": "Training loss",
  "train/staleness": "Staleness",
  "train/samples_per_second": "Throughput",
}

/** "eval/top5_accuracy" -> "Eval top5 accuracy" */
export function metricTitle(name: string): string {
  const words = name.replace("/", " ").replaceAll("_", " ")
  return TITLES[name] ?? words[0]!.toUpperCase() + words.slice(1)
}

/** The line that ends the job when its metric reaches it. */
export function targetOf({ stop }: JobSpec, metric: string): Threshold | null {
  const { target } = stop
  const value = target?.at_least ?? target?.at_most
  if (target?.metric !== metric || value === null || value === undefined) return null
  return { value, label: `target ${formatNumber(value)}` }
}
