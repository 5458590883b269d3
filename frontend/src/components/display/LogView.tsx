import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual"
import { useEffect, useLayoutEffect, useRef, type RefObject } from "react"
import { formatClock } from "@/lib/format"
import type { LogLine } from "@/lib/logs/logBook"
import classes from "./LogView.module.css"

const ROW = 19
const AT_END = 24
const NEAR_TOP = 40
const SETTLED_MS = 300

interface LogViewProps {
  lines: readonly LogLine[]
  follow: boolean
  /** Scrolling up stops following, scrolling to the end takes it up again; with the key of the topmost line. */
  onFollow: (follow: boolean, top: string | null) => void
  /** Somebody looks at the first line. */
  onTop: () => void
  /** The line to begin at, unless the end is followed. */
  place: string | null
  withLabels: boolean
}

/** However many lines there are, only those in sight are drawn. */
export function LogView({ lines, follow, onFollow, onTop, place, withLabels }: LogViewProps) {
  const view = useRef<HTMLDivElement>(null)
  // eslint-disable-next-line react-hooks/incompatible-library -- it is read here, in the component that made it, and handed to no component that remembers it
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => view.current,
    estimateSize: () => ROW,
    getItemKey: (index) => lines[index]!.key,
    overscan: 12,
  })
  const topRef = useRef<string | null>(place)
  useEnd(virtual, lines, follow)
  usePlace(virtual, lines, follow, topRef)
  const scrolled = useScrolled(view, virtual, lines, { follow, onFollow, onTop, topRef })
  return (
    <div ref={view} className={classes.view} onScroll={scrolled} tabIndex={0} role="log" aria-label="Output of the processes" aria-live="off">
      <div className={classes.lines} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div key={key} ref={virtual.measureElement} data-index={index} className={classes.line} data-level={lines[index]!.level ?? undefined} style={{ transform: `translateY(${start}px)` }}>
            <Line line={lines[index]!} withLabel={withLabels} />
          </div>
        ))}
      </div>
    </div>
  )
}

function Line({ line: { time, label, level, text }, withLabel }: { line: LogLine; withLabel: boolean }) {
  return (
    <>
      <span className={classes.time}>{formatClock(time)}</span>
      {withLabel && <span className={classes.label}>{label}</span>}
      <span className={classes.level} aria-label={level ?? undefined} role={level ? "img" : undefined} title={level ?? undefined} />
      <span className={classes.text}>{text}</span>
    </>
  )
}

type Rows = Virtualizer<HTMLDivElement, Element>

/** While the end is followed it stays in sight. */
function useEnd(virtual: Rows, lines: readonly LogLine[], follow: boolean): void {
  const count = lines.length
  useEffect(() => {
    if (follow && count > 0) virtual.scrollToIndex(count - 1, { align: "end" })
  }, [virtual, count, follow])
}

/** Lines that come in front move nothing: the topmost one stays where it is. It is also where the view begins. */
function usePlace(virtual: Rows, lines: readonly LogLine[], follow: boolean, topRef: RefObject<string | null>): void {
  const first = lines[0]?.key
  useLayoutEffect(() => {
    if (follow || topRef.current === null || first === undefined) return
    const index = lines.findIndex(({ key }) => key === topRef.current)
    if (index > 0) virtual.scrollToIndex(index, { align: "start" })
    // eslint-disable-next-line react-hooks/exhaustive-deps -- only when the beginning has changed; lines grow at their end all the time
  }, [first])
}

interface Watch extends Pick<LogViewProps, "follow" | "onFollow" | "onTop"> {
  topRef: RefObject<string | null>
}

function useScrolled(view: RefObject<HTMLDivElement | null>, virtual: Rows, lines: readonly LogLine[], { follow, onFollow, onTop, topRef }: Watch): () => void {
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => window.clearTimeout(timer.current), [])
  return () => {
    const { scrollTop, scrollHeight, clientHeight } = view.current!
    const atEnd = scrollHeight - scrollTop - clientHeight < AT_END
    const item = virtual.getVirtualItemForOffset(scrollTop)
    topRef.current = atEnd ? null : ((item && lines[item.index]?.key) ?? null)
    if (scrollTop < NEAR_TOP && !follow) onTop()
    window.clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      onFollow(atEnd, topRef.current)
      if (follow && !atEnd && scrollTop < NEAR_TOP) onTop() // one leap from the end to the top, as with the Home key
    }, SETTLED_MS)
  }
}
