import type { Importance, SettingImportance } from "@/client"
import { counted, formatPercent } from "@/lib/format"
import type { RunField } from "./runs"

/** Which settings explain a figure of the compared runs: what to ask, and the answer in words. */

/** Results of the runs: any of them can be explained. */
export function figureFields(fields: readonly RunField[]): RunField[] {
  return fields.filter(({ group }) => group === "Results")
}

/** The field that is explained: the selected one, else the best value of the metric, else its last one. */
export function figureField(fields: readonly RunField[], selected: string | null): RunField {
  const known = figureFields(fields)
  return known.find(({ key }) => key === selected) ?? known.find(({ key }) => key === "best") ?? known[0]!
}

/** The name of a field in a request: values of the metric by its name, as several metrics have them. */
export function figureName({ key }: RunField, metric: { name: string; better: string }): string {
  if (key === "last") return metric.name
  return key === "best" ? `${metric.better === "higher" ? "max" : "min"}:${metric.name}` : key
}

/** One sentence about how far the ranking can be believed. Null: nothing was computed. */
export function verdict({ runs, r2, needed_r2, believed }: Importance): string | null {
  if (r2 === null || needed_r2 === null) return null
  if (believed) return `${counted(runs, "run")}, out-of-bag R² ${r2.toFixed(2)}: the settings predict ${formatPercent(r2, 0)} of the variance.`
  return `${counted(runs, "run")}, out-of-bag R² ${r2.toFixed(2)}, which is below ${needed_r2.toFixed(2)}: chance could have ranked these settings. Compare more runs, or vary other settings.`
}

/** A sentence about the runs that do not count; empty: all do. */
export function leftOut({ running, without }: Importance): string {
  const parts = [
    running.length > 0 ? `${counted(running.length, "run")} ${running.length === 1 ? "has" : "have"} not ended` : "",
    without.length > 0 ? `${counted(without.length, "run")} ${without.length === 1 ? "has" : "have"} no finite value` : "",
  ].filter(Boolean)
  return parts.length > 0 ? `Left out: ${parts.join(", ")}.` : ""
}

/** Rank correlations nearer to 0 show no direction. */
const NO_TREND = 0.3

/** How the figure follows the values of a setting. */
export function direction({ correlation, levels }: SettingImportance, format: (value: number) => string): string {
  if (correlation === null) return levels.map(({ value, mean }) => `${value} ${format(mean)}`).join(", ")
  const rho = `ρ ${correlation < 0 ? "−" : "+"}${Math.abs(correlation).toFixed(2)}`
  if (Math.abs(correlation) < NO_TREND) return `No trend (${rho})`
  return correlation > 0 ? `Rises with it (${rho})` : `Falls as it rises (${rho})`
}

/** Names after the first that stand in a row. */
const MOST_NAMES = 3

/** The first of settings that change together, and words about the others. */
export function settingNames(settings: readonly string[]): [string, string] {
  const [first = "", ...others] = settings
  if (others.length === 0) return [first, ""]
  const more = others.length - MOST_NAMES
  return [first, `changes together with ${others.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${counted(more, "other setting")}` : ""}`]
}
