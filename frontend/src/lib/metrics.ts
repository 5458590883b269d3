import type { JobSpec } from "@/client"
import { formatBytes, formatMoments, formatNumber } from "./format"
import type { Threshold } from "./lines"

const TITLES: Record<string, string> = {
  "train/loss": "Training loss",
  "train/staleness": "Staleness",
  "train/staleness_seconds": "Staleness in seconds",
  "train/base_distance": "Distance to the center",
  "train/samples_per_second": "Throughput",
  "time/compute": "Time computing",
  "time/wait": "Time waiting",
  "time/send": "Time sending",
  "time/data": "Time waiting for data",
  "push/norm": "Norm of a push",
  "push/error": "Codec error",
  "push/sent_bytes": "Bytes sent",
  "push/raw_bytes": "Bytes before the codec",
  "push/received_bytes": "Bytes received",
  "server/apply": "Time to apply an entry",
  "server/queue": "Entries waiting",
  "server/busy": "Share of time busy",
  "server/slice_bytes": "Slice of a shard",
  "worker/no_room": "Shared memory not got",
  "plane/asked_again": "Damaged, asked for again",
  "system/cpu": "CPU",
  "system/memory": "Memory",
  "system/gpu": "GPU",
  "system/gpu_memory": "GPU memory",
  "ledger/pushed": "Pushes posted",
  "ledger/applied": "Pushes applied",
  "ledger/buffered": "Pushes buffered",
  "ledger/dropped": "Pushes dropped",
  "ledger/dropped_stale": "Pushes dropped: too stale",
  "ledger/dropped_quorum": "Pushes dropped: after the quorum",
  "ledger/dropped_not_finite": "Pushes dropped: NaN or infinite",
  "ledger/dropped_superseded": "Pushes dropped: from a replaced worker",
  "time/on_core": "Share of computing on a core",
  "ledger/pending": "Pushes pending",
  "ledger/undone": "Pushes undone",
}

/** "eval/top5_accuracy" -> "Eval top5 accuracy" */
export function metricTitle(name: string): string {
  const words = name.replace("/", " ").replaceAll("_", " ")
  return TITLES[name] ?? words[0]!.toUpperCase() + words.slice(1)
}

/** Writes one value of a metric: a time as 2.3 ms, bytes as 64 kB; what is not finite by its name. */
export function formatOf(unit: string): (value: number) => string {
  const format = unit === "s" ? formatMoments : unit === "bytes" ? formatBytes : formatNumber
  return (value) => (Number.isFinite(value) ? format(value) : formatNumber(value))
}

/** The line that ends the job when its metric reaches it. */
export function targetOf({ stop }: JobSpec, metric: string): Threshold | null {
  const { target } = stop
  const value = target?.at_least ?? target?.at_most
  if (target?.metric !== metric || value === null || value === undefined) return null
  return { value, label: `target ${formatNumber(value)}` }
}

export interface MetricGroup {
  key: string
  title: string
  names: string[]
}

const GROUPS: Record<string, string> = {
  train: "Training", eval: "Evaluation", time: "Time of a push", push: "Pushes", server: "Servers", ledger: "Ledger", worker: "Workers", system: "Machines",
}
/** What matters most stands first; the others by name. */
const FIRST = ["train/loss", "train/staleness", "train/samples_per_second", "train/staleness_seconds", "train/base_distance", "eval/accuracy", "eval/loss"]
/** One number each, said in the progress of the job. */
export const NO_CHART: readonly string[] = ["train/total_samples", "train/epoch_samples", "train/share", "train/active", "system/cores"]

/** Metrics by the part before "/"; those that are pinned in a group of their own before all others. A search finds names and titles. */
export function metricGroups(names: readonly string[], pinned: readonly string[], search: string): MetricGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const found = [...new Set(names)]
    .filter((name) => !NO_CHART.includes(name))
    .filter((name) => words.every((word) => `${name} ${metricTitle(name)}`.toLowerCase().includes(word)))
    .sort((a, b) => rank(FIRST, a) - rank(FIRST, b) || a.localeCompare(b, "en", { numeric: true }))
  const keys = [...new Set(found.map(groupKey))].sort((a, b) => rank(Object.keys(GROUPS), a) - rank(Object.keys(GROUPS), b) || a.localeCompare(b))
  const chosen = pinned.filter((name) => found.includes(name))
  const groups = keys.map((key) => ({ key, title: GROUPS[key] ?? metricTitle(key), names: found.filter((name) => groupKey(name) === key && !chosen.includes(name)) }))
  return [{ key: "pinned", title: "Pinned", names: chosen }, ...groups].filter((group) => group.names.length > 0)
}

function groupKey(name: string): string {
  return name.includes("/") ? name.slice(0, name.indexOf("/")) : name
}

function rank(order: readonly string[], what: string): number {
  const place = order.indexOf(what)
  return place < 0 ? order.length : place
}
