import { useEffect } from "react"
import { useOpenedFeed } from "@/hooks/job/useFeed"
import { every } from "@/lib/browser/every"
import { wireAxis } from "@/lib/charts/axes"
import { useRestingRange } from "./useBoard"
import { useAfterTheEnd } from "./useChart"
import { useChartSettings } from "./useChartSettings"
import { useDistribution } from "./useDistribution"

/** Not more often than this is the server asked again because points came. */
const AGAIN_MS = 2000

/** The distribution of a metric in the visible range. It is asked for again when points have come: a tick tells extremes, not every value. */
export function useLiveDistribution(name: string) {
  const { opened, live } = useOpenedFeed()
  const [{ axis }] = useChartSettings()
  const query = useDistribution(opened, name, wireAxis(axis), useRestingRange())
  const { refetch } = query
  useEffect(() => every(AGAIN_MS, (listener) => live.subscribe(name, listener), () => void refetch({ cancelRefetch: false })), [live, name, refetch])
  useAfterTheEnd(refetch, true)
  return { ...query, error: query.data ? null : query.error }
}
