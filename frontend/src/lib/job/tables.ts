import type { KeyExport, RowBin } from "@/client"
import { formatCount } from "@/lib/format"

/** Metrics of a shard's embedding tables of which the latest value is shown. */
export const TABLE_METRICS = ["rows", "candidates", "bytes", "cold", "disk", "made", "evicted", "evicted_candidates", "applied", "counted", "missed", "dropped"] as const

export type TableMetric = (typeof TABLE_METRICS)[number]

/** Outcomes of the keys of pushes, with their meaning. */
export const KEY_OUTCOMES = [
  { name: "applied", meaning: "made a step of their row" },
  { name: "counted", meaning: "have no row yet" },
  { name: "missed", meaning: "their row was evicted since its lookup" },
  { name: "dropped", meaning: "of a dropped push, or the table was full" },
] as const

/** The embedding tables of one server. */
export interface TableShard extends Record<TableMetric, number> {
  server: string
  /** Keys of all pushes. */
  pushed: number
  /** Rows whose vectors are in memory. */
  inMemory: number
  /** A table is bounded in memory, so others may be on disk. */
  isBounded: boolean
  /** made less rows and evicted: 0, or something is missing. */
  missing: number
  /** Its part of the memory of all servers' tables, 0 to 1; null while none is used. */
  share: number | null
}

/** The latest values of each metric, by source ("server-1"). */
export type LatestOfTables = ReadonlyMap<TableMetric, ReadonlyMap<string, number>>

/** The shards by number. */
export function tableShards(latest: LatestOfTables): TableShard[] {
  const memory = [...(latest.get("bytes")?.values() ?? [])].reduce((sum, bytes) => sum + bytes, 0)
  return [...(latest.get("rows")?.keys() ?? [])]
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .map((source) => {
      const values = Object.fromEntries(TABLE_METRICS.map((name) => [name, latest.get(name)?.get(source) ?? 0])) as Record<TableMetric, number>
      return {
        ...values,
        server: source.replace("-", " "),
        pushed: KEY_OUTCOMES.reduce((sum, { name }) => sum + values[name], 0),
        inMemory: values.rows - values.cold,
        isBounded: latest.get("cold")?.has(source) ?? false,
        missing: values.made - values.rows - values.evicted,
        share: memory > 0 ? values.bytes / memory : null,
      }
    })
}

/** How evenly the servers share the rows, 0 to 1: the mean over the most. Null with less than two servers, or without rows. */
export function rowBalance(shards: readonly TableShard[]): number | null {
  const most = Math.max(...shards.map(({ rows }) => rows))
  return shards.length > 1 && most > 0 ? shards.reduce((sum, { rows }) => sum + rows, 0) / shards.length / most : null
}

/** Names of the tables that report their rows one by one. */
export function reportedTables(metrics: readonly string[]): string[] {
  return metrics.filter((name) => name.startsWith("rows/")).sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
}

/** Values that a bin counts, in words: "0", "2 to 3", "0.5 to 1", "from 16". */
export function binTitle({ least, below }: RowBin, whole: boolean): string {
  if (below === null) return `from ${formatCount(least)}`
  if (whole) return below - least === 1 ? formatCount(least) : `${formatCount(least)} to ${formatCount(below - 1)}`
  return `${short(least)} to ${short(below)}`
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)))
}

/** Number, version and pass of an export. */
export function aboutExport({ number, version, passes }: Pick<KeyExport, "number" | "version" | "passes">): string {
  return `Export ${number}: version ${formatCount(version)}${passes === null ? "" : `, after pass ${formatCount(passes)}`}`
}

const READS: Record<string, string> = {
  zeros: "The model reads zeros for it.",
  first_values: "The model reads its first values, drawn from seed, table and key.",
}

/** The values that the model reads for a key without a row; empty while there is no export. */
export function readsInstead(reads: string | null): string {
  return READS[reads ?? ""] ?? ""
}
