import { useMemo } from "react"
import { useEvents } from "@/hooks/job/useJobHistory"
import type { AxisView } from "@/lib/charts/axes"
import { marksOf, type Mark } from "@/lib/charts/marks"

const NONE: readonly Mark[] = []

/** Moments of the job that charts over time mark; over another axis they have no place. */
export function useMarks({ wire }: AxisView): readonly Mark[] {
  const { data } = useEvents()
  const marks = useMemo(() => marksOf(data), [data])
  return wire === "time" ? marks : NONE
}
