import { defaultRangeExtractor, useVirtualizer, type Range } from "@tanstack/react-virtual"
import { useMemo, useRef, useState } from "react"
import type { Waiting } from "@/client"
import { useKeptPlace } from "@/hooks/jobs/useKeptPlace"
import { useRowsInPlace } from "@/hooks/jobs/useRowsInPlace"
import { useNow } from "@/hooks/useNow"
import { formatAgo } from "@/lib/format"
import { WaitingRow } from "./WaitingRow"
import classes from "./WaitingTable.module.css"

const COLUMNS = ["Place", "Job", "Reason", "Workers", "Priority", "Submitted"]
const ROW = 62

interface WaitingTableProps {
  jobs: readonly Waiting[]
  /** With those that are not listed. */
  total: number
}

/** Only the rows in sight exist, and the row that has the focus. On a narrow screen each is a card. */
export function WaitingTable({ jobs, total }: WaitingTableProps) {
  const now = useNow()
  const frame = useRef<HTMLDivElement>(null)
  const kept = useKeptPlace()
  const ids = useMemo(() => jobs.map(({ id }) => id), [jobs])
  const [focused, setFocused] = useState<string | null>(null)
  const focusedIndex = focused === null ? -1 : ids.indexOf(focused)
  // eslint-disable-next-line react-hooks/incompatible-library -- it is read afresh in each render, and no memo depends on it
  const virtual = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 6,
    getItemKey: (index) => ids[index]!,
    rangeExtractor: (range: Range) => withRow(defaultRangeExtractor(range), focusedIndex),
    initialOffset: kept.place?.offset ?? 0,
    initialMeasurementsCache: kept.place?.measured ?? [],
  })
  const { onScroll } = useRowsInPlace({ virtual, ids, active: null, kept })
  return (
    <div ref={frame} role="table" aria-label="Waiting jobs" aria-rowcount={total + 1} className={classes.table} onScroll={onScroll}>
      <div role="rowgroup" className={classes.head}>
        <div role="row" aria-rowindex={1} className={classes.titles}>
          {COLUMNS.map((column) => (
            <div role="columnheader" key={column}>
              {column}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const job = jobs[index]!
          return (
            <WaitingRow
              key={job.id}
              job={job}
              index={index}
              start={start}
              submitted={formatAgo(job.created_at, now)}
              measure={virtual.measureElement}
              onFocused={setFocused}
            />
          )
        })}
      </div>
    </div>
  )
}

/** A row that is edited exists even when it is out of sight: the next key belongs to it. */
function withRow(shown: number[], row: number): number[] {
  if (row < 0 || shown.includes(row)) return shown
  return [...shown, row].sort((a, b) => a - b)
}
