import { Button } from "@mantine/core"
import { useEffect, useRef, useState } from "react"
import type { useJobs } from "@/hooks/jobs/useJobs"
import { formatCount } from "@/lib/format"
import { listed } from "@/lib/jobs/jobPages"

interface SelectAllButtonProps {
  /** All that have been read are selected, and the list goes on. */
  offered: boolean
  read: number
  /** Null: not known yet. */
  total: number | null
  fetchNextPage: ReturnType<typeof useJobs>["fetchNextPage"]
  select: (ids: readonly string[]) => void
}

/** Reads the list to its end, then selects all of it. Leaving the list or a second press ends the reading. */
export function SelectAllButton({ offered, read, total, fetchNextPage, select }: SelectAllButtonProps) {
  const [reading, setReading] = useState(false)
  const stop = useRef<AbortController>(null)
  useEffect(() => () => stop.current?.abort(), [])
  const start = async () => {
    const { signal } = (stop.current = new AbortController())
    setReading(true)
    let page = await fetchNextPage()
    while (!signal.aborted && page.isSuccess && page.hasNextPage) page = await fetchNextPage()
    if (!signal.aborted && page.isSuccess) select(listed(page.data).map(({ id }) => id))
    setReading(false)
  }
  if (!offered && !reading) return null
  const all = formatCount(total ?? read)
  return (
    <Button size="xs" variant="subtle" className="numbers" onClick={() => (reading ? stop.current?.abort() : void start())}>
      {reading ? `Cancel: ${formatCount(read)} of ${all} loaded` : `Select all ${all}`}
    </Button>
  )
}
