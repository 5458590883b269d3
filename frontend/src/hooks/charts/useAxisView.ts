import { useMemo } from "react"
import { useFeed } from "@/hooks/job/useFeed"
import { axisView, samplesPerEpoch, type Axis, type AxisView } from "@/lib/charts/axes"

/** How an axis of the job is shown. The same object while nothing changes. */
export function useAxisView(axis: Axis): AxisView {
  const began = useFeed(({ job }) => Date.parse(job.started_at ?? job.created_at) / 1000)
  const epoch = useSamplesPerEpoch()
  return useMemo(() => axisView(axis, began, epoch), [axis, began, epoch])
}

export function useSamplesPerEpoch(): number | null {
  return useFeed(({ job }) => samplesPerEpoch(job))
}
