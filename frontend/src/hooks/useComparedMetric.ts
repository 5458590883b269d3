import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { Compared } from "@/lib/compare/groups"
import { NO_CHART, targetOf } from "@/lib/metrics"
import type { Threshold } from "@/lib/lines"
import { useComparison, type Direction } from "./useComparison"

const ALWAYS = ["train/loss", "train/staleness", "train/samples_per_second"]

/** The metric that jobs are compared by, all that could be chosen, and which value of it is a target from which side. */
export function useComparedMetric(jobs: readonly Compared[]) {
  const [{ metric, target, direction }] = useComparison()
  const catalogue = useQuery({ queryKey: ["catalogue"], queryFn: () => body(api.GET("/api/v1/metrics/catalogue")), staleTime: Infinity }).data ?? []
  const evaluated = [...new Set(jobs.flatMap(({ job }) => Object.keys(job.progress.eval ?? {})))].sort().map((key) => `eval/${key}`)
  const names = [...new Set([...evaluated, ...ALWAYS, ...catalogue.map(({ name }) => name)])].filter((name) => !NO_CHART.includes(name))
  const name = metric ?? evaluated.find((one) => one === "eval/accuracy") ?? evaluated[0] ?? "train/loss"
  const better = catalogue.find((entry) => entry.name === name)?.better ?? "neither"
  const natural: Direction = better === "lower" ? "at_most" : "at_least"
  const own = jobs.map(({ job }) => targetOf(job.spec, name)).find((found) => found !== null)?.value ?? null
  return {
    name,
    names: names.includes(name) ? names : [name, ...names],
    target: target ?? own,
    direction: direction ?? natural,
  }
}

export type ComparedMetric = ReturnType<typeof useComparedMetric>

export function thresholdOf(target: number | null): Threshold | null {
  return target === null ? null : { value: target, label: `target ${target}` }
}
