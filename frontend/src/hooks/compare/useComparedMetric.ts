import { useCatalogue } from "@/hooks/charts/useMetricCatalogue"
import { entryOf, targetOf } from "@/lib/charts/metrics"
import type { Compared } from "@/lib/compare/groups"
import { useComparison, type Direction } from "./useComparison"

/** The metric that jobs are compared by, all that could be selected, and which value of it is a target from which side. */
export function useComparedMetric(jobs: readonly Compared[]) {
  const [{ metric, target, direction }] = useComparison()
  const catalogue = useCatalogue()
  const evaluated = [...new Set(jobs.flatMap(({ job }) => Object.keys(job.progress.eval ?? {})))].sort().map((key) => `eval/${key}`)
  const names = [...new Set([...evaluated, ...catalogue.filter(({ drawn }) => drawn).map(({ name }) => name)])]
  const name = metric ?? evaluated.find((one) => one === "eval/accuracy") ?? evaluated[0] ?? "train/loss"
  const natural: Direction = entryOf(catalogue, name).better === "lower" ? "at_most" : "at_least"
  const own = jobs.map(({ job }) => targetOf(job.spec, name)).find((found) => found !== null)?.value ?? null
  return {
    name,
    names: names.includes(name) ? names : [name, ...names],
    target: target ?? own,
    direction: direction ?? natural,
  }
}

export type ComparedMetric = ReturnType<typeof useComparedMetric>
