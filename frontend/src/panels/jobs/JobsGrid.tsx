import { useVirtualizer, defaultRangeExtractor, type Range } from "@tanstack/react-virtual"
import { useEffect, useMemo, useRef, type CSSProperties, type KeyboardEvent } from "react"
import type { JobSummary } from "@/client"
import type { KeptPlace } from "@/hooks/jobs/useKeptPlace"
import type { RowKeys } from "@/hooks/jobs/useRowKeys"
import { useRowsInPlace } from "@/hooks/jobs/useRowsInPlace"
import type { Selection } from "@/hooks/jobs/useSelection"
import { useNow } from "@/hooks/useNow"
import type { FieldColumn, JobColumn } from "@/lib/jobs/jobColumns"
import type { Values } from "@/lib/jobs/jobPages"
import { GridHead, type Order } from "./GridHead"
import { JobRow, rowId } from "./JobRow"
import classes from "./JobsGrid.module.css"

interface JobsGridProps {
  jobs: readonly JobSummary[]
  /** With those that have not been read yet. */
  total: number
  columns: readonly (JobColumn | FieldColumn)[]
  values: Values
  order: Order
  onOrder: (order: Order) => void
  selection: Selection
  rows: RowKeys
  kept: KeptPlace
  /** Asked for when the end of what has been read comes near. */
  readOn: () => void
}

/** Rows from which on the next page is read. */
const AHEAD = 40
const ROW = 36

/** Only the rows in sight exist, so thousands are as fast as ten. On a narrow screen each is a card. */
export function JobsGrid({ jobs, total, columns, values, order, onOrder, selection, rows, kept, readOn }: JobsGridProps) {
  const now = useNow()
  const frame = useRef<HTMLDivElement>(null)
  const { active, activeId } = rows
  // eslint-disable-next-line react-hooks/incompatible-library -- it is read afresh in each render, and nothing here is memoised
  const virtual = useVirtualizer({
    count: jobs.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 8,
    getItemKey: (index) => jobs[index]!.id,
    rangeExtractor: (range: Range) => withActive(defaultRangeExtractor(range), active),
    scrollPaddingStart: 44,
    initialOffset: kept.place?.offset ?? 0,
    initialMeasurementsCache: kept.place?.measured ?? [],
  })
  const ids = useMemo(() => jobs.map(({ id }) => id), [jobs])
  const { onScroll } = useRowsInPlace({ virtual, ids, active: activeId, kept })
  const items = virtual.getVirtualItems()
  const end = virtual.range?.endIndex ?? 0
  useEffect(() => {
    if (end >= jobs.length - AHEAD) readOn()
  }, [end, jobs.length, readOn])
  const shown = useRef(activeId)
  useEffect(() => {
    if (active !== null && activeId !== shown.current) virtual.scrollToIndex(active)
    shown.current = activeId
  }, [active, activeId, virtual])
  const selected = selection.ids.size === 0 ? "none" : selection.ids.size >= jobs.length ? "all" : "some"
  const tracks = ["36px", "minmax(150px, 2fr)", ...columns.map(({ width }) => width)]
  return (
    <div
      ref={frame}
      role="grid"
      tabIndex={0}
      aria-label="Jobs"
      aria-rowcount={total + 1}
      aria-multiselectable
      aria-activedescendant={activeId === null ? undefined : rowId(activeId)}
      className={classes.grid}
      style={{ "--tracks": tracks.join(" "), "--least": `${leastWidth(tracks)}px` } as CSSProperties}
      onScroll={onScroll}
      onKeyDown={(event: KeyboardEvent) => rows.onKeyDown(event)}
    >
      <GridHead columns={columns} order={order} onOrder={onOrder} selected={selected} onSelectAll={selection.all} />
      <div role="rowgroup" className={classes.body} style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const job = jobs[item.index]!
          return (
            <JobRow
              key={item.key}
              job={job}
              item={item}
              measure={virtual.measureElement}
              columns={columns}
              values={values[job.id]}
              now={now}
              active={item.index === active}
              selected={selection.ids.has(job.id)}
              onSelect={(range) => selection.toggle(job.id, range)}
            />
          )
        })}
      </div>
    </div>
  )
}

/** Pixels that the tracks need with the gaps between them: a narrower grid scrolls sideways. */
function leastWidth(tracks: readonly string[]): number {
  return tracks.reduce((sum, track) => sum + Number(/\d+/.exec(track)![0]) + 14, 22)
}

/** The active row exists even when it is out of sight: the grid names it to those who hear it. */
function withActive(shown: number[], active: number | null): number[] {
  if (active === null || shown.includes(active)) return shown
  return [...shown, active].sort((a, b) => a - b)
}
