import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import { againAfter } from "@/lib/api/recovery"
import type { Direction } from "./useComparison"

interface Goal {
  metric: string
  target: number | null
  direction: Direction
}

/** When each job first reached the target; asked again while one of them lives. Without a target nothing is asked. */
export function useTargets(jobs: readonly string[], { metric, target, direction }: Goal, pause: () => number | false) {
  return useQuery({
    queryKey: ["target", jobs, metric, target, direction],
    queryFn: () => body(api.GET("/api/v1/compare/target", { params: { query: { job: [...jobs], metric, [direction]: target! } } })),
    enabled: target !== null && jobs.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: againAfter(pause),
  })
}
