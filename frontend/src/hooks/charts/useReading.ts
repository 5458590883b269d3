import { useEffect, useState } from "react"
import { every } from "@/lib/browser/every"
import type { ChartData, DataLine } from "@/lib/charts/chartData"

const READ_EVERY_MS = 1000
const AFTER_ANSWER_MS = 60

/** The lines of a chart for what is computed from them: anew about once a second while they change, not with each point. */
export function useReading(data: ChartData): readonly DataLine[] {
  const [reading, setReading] = useState<{ data: ChartData; lines: readonly DataLine[] }>({ data, lines: [] })
  const wanted = reading.data !== data || reading.lines.length === 0
  useEffect(() => {
    const read = () => setReading({ data, lines: data.lines.map((line) => ({ ...line })) })
    const begin = data.lines.length > 0 ? setTimeout(read) : undefined
    const stop = every(wanted ? AFTER_ANSWER_MS : READ_EVERY_MS, data.subscribe, read)
    return () => {
      clearTimeout(begin)
      stop()
    }
  }, [data, wanted])
  return reading.data === data ? reading.lines : []
}
