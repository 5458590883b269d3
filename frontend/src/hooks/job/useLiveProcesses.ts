import { useMemo } from "react"
import type { Process } from "@/client"
import { useFeed } from "./useFeed"
import { useProcesses } from "./useJobHistory"

/** The newest incarnation of each process of the latest attempt, by label. */
export function useLiveProcesses(): ReadonlyMap<string, Process> {
  const { data } = useProcesses()
  const attempt = useFeed((feed) => feed.job.attempt)
  return useMemo(() => {
    const newest = new Map<string, Process>()
    for (const process of data) {
      const known = newest.get(process.label)
      if (process.attempt === attempt && (!known || known.incarnation < process.incarnation)) newest.set(process.label, process)
    }
    return newest
  }, [data, attempt])
}
