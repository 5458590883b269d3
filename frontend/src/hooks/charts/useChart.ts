import { useEffect, useMemo, useSyncExternalStore } from "react"
import { useFeed, useOpenedFeed } from "@/hooks/job/useFeed"
import { wireAxis, type WireAxis } from "@/lib/charts/axes"
import { ChartData, type ChartQuestion } from "@/lib/charts/chartData"
import { hasEnded } from "@/lib/status"
import { useRestingRange } from "./useBoard"
import { useChartAnswer } from "./useChartAnswer"
import { useChartSettings } from "./useChartSettings"

/** The server is not asked again more often than this because the stream went on without the chart. */
const AGAIN_MS = 3000
/** After the end, as long: by then a stream that broke because the job was deleted has been noticed. */
const AFTER_END_MS = 5000

/** Data of a metric for the visible range: the server's columns and, from then on, the stream's points. `width` null: out of sight. */
export function useChart(name: string, width: number | null) {
  const [{ axis }] = useChartSettings()
  const range = useRestingRange()
  return useColumns(name, wireAxis(axis), range, width)
}

/** The same over an axis and a range of one's own. Both have to stay the same object while they are the same. */
export function useColumns(name: string, axis: WireAxis, range: ChartQuestion["range"], width: number | null) {
  const { opened, live } = useOpenedFeed()
  const question = useMemo(() => (width === null ? null : { axis, range, width }), [axis, range, width])
  const query = useChartAnswer(opened, name, question)
  const data = useMemo(() => new ChartData(name, live), [name, live])
  const { refetch, data: found } = query
  const away = useAway()

  useEffect(() => {
    if (width === null || away) return
    let last = 0
    let timer: number | undefined
    const again = () => {
      timer = undefined
      last = Date.now()
      void refetch({ cancelRefetch: false })
    }
    const stop = data.follow(() => (timer ??= window.setTimeout(again, last + AGAIN_MS - Date.now())))
    return () => {
      stop()
      window.clearTimeout(timer)
    }
  }, [data, width, refetch, away])
  useEffect(() => {
    if (found) data.answer(found.answer, found.question)
  }, [data, found])
  useAfterTheEnd(refetch, width !== null)

  const isEmpty = useSyncExternalStore(data.subscribe, () => data.lines.length === 0)
  return { data, isEmpty, isPending: query.isPending, isStale: query.isPlaceholderData, error: found ? null : query.error, refetch }
}

/** Nothing is asked while the stream is away: when it is back, it says whether the job still exists. */
function useAway(): boolean {
  return useFeed((feed) => feed.gone || feed.connection === "reconnecting")
}

/** The stored points count in the end: some may have come after the stream was closed. */
export function useAfterTheEnd(refetch: () => unknown, wanted: boolean): void {
  const { opened } = useOpenedFeed()
  const ended = useFeed((feed) => feed.connection === "ended" || hasEnded(feed.job))
  const away = useAway()
  const live = !hasEnded(opened)
  useEffect(() => {
    if (!ended || !live || !wanted || away) return
    const timer = window.setTimeout(() => void refetch(), AFTER_END_MS)
    return () => window.clearTimeout(timer)
  }, [ended, live, wanted, away, refetch])
}
