import type { CatalogueEntry, JobSpec } from "@/client"
import type { Threshold } from "./lines"
import { valueUnit, writeValue } from "./scales/units"

/** All metrics that the platform measures, in the order in which they are listed. */
export type Catalogue = readonly CatalogueEntry[]

/** Begins the names of values that a workload logs. */
const LOGGED = "user"

/** The catalogue's entry of a metric. Users' own metrics are not in it, so their titles come from their names: "eval/top5_accuracy" is "Eval top5 accuracy". A logged value keeps the name that the workload gives it. */
export function entryOf(catalogue: Catalogue, name: string): CatalogueEntry {
  return catalogue.find((entry) => entry.name === name) ?? { name, title: titleOf(name), group: groupOf(catalogue, name), unit: "", meaning: "", better: "neither", drawn: true }
}

function titleOf(name: string): string {
  return name.startsWith(`${LOGGED}/`) ? name.slice(LOGGED.length + 1) : titleFrom(name)
}

/** Metrics whose names begin alike share a group. */
function groupOf(catalogue: Catalogue, name: string): string {
  const key = groupKey(name)
  if (key === LOGGED) return "Logged values"
  return catalogue.find((entry) => groupKey(entry.name) === key)?.group ?? titleFrom(key)
}

function titleFrom(name: string): string {
  const words = name.replace("/", " ").replaceAll("_", " ")
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Shares that the rest of the page writes in percent, too. */
const SHARES = ["system/gpu", "server/busy", "time/on_core"]

/** The quantity that a metric measures: its unit, or "share". */
export function quantityOf({ name, unit }: Pick<CatalogueEntry, "name" | "unit">): string {
  return SHARES.includes(name) || name.endsWith("accuracy") ? "share" : unit
}

/** The line that ends the job when its metric reaches it. */
export function targetOf({ stop }: JobSpec, metric: string): Threshold | null {
  const { target } = stop
  const value = target?.at_least ?? target?.at_most
  if (target?.metric !== metric || value === null || value === undefined) return null
  return thresholdAt(value, metric)
}

export function thresholdAt(value: number, metric: string): Threshold {
  return { value, label: `target ${writeValue(value, valueUnit(quantityOf({ name: metric, unit: "" }), Math.abs(value)))}` }
}

export interface MetricGroup {
  key: string
  title: string
  names: string[]
}

/** Metrics by group, in the order of the catalogue, then users' own by name. Logged values follow the first group. Pinned metrics make a group of their own before all others. A search finds names and titles. */
export function metricGroups(catalogue: Catalogue, names: readonly string[], pinned: readonly string[], search: string): MetricGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const known = catalogue.map(({ name }) => name)
  const [first = "", ...others] = new Set(known.map(groupKey))
  const keys = [first, LOGGED, ...others]
  const found = [...new Set(names)]
    .map((name) => entryOf(catalogue, name))
    .filter(({ drawn }) => drawn)
    .filter(({ name, title }) => words.every((word) => `${name} ${title}`.toLowerCase().includes(word)))
    .sort((a, b) => rank(keys, groupKey(a.name)) - rank(keys, groupKey(b.name)) || rank(known, a.name) - rank(known, b.name) || a.name.localeCompare(b.name, "en", { numeric: true }))
  const chosen = pinned.filter((name) => found.some((entry) => entry.name === name))
  const unpinned = found.filter(({ name }) => !chosen.includes(name))
  const groups = [...new Map(unpinned.map(({ name, group }) => [groupKey(name), group]))].map(([key, title]) => ({ key, title, names: unpinned.map(({ name }) => name).filter((name) => groupKey(name) === key) }))
  return [{ key: "pinned", title: "Pinned", names: chosen }, ...groups].filter((group) => group.names.length > 0)
}

function groupKey(name: string): string {
  return name.includes("/") ? name.slice(0, name.indexOf("/")) : name
}

function rank(order: readonly string[], what: string): number {
  const place = order.indexOf(what)
  return place < 0 ? order.length : place
}
