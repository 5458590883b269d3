import "uplot/dist/uPlot.min.css"
import { useComputedColorScheme } from "@mantine/core"
import { useCallback, useEffect, useImperativeHandle, useRef, useState, useSyncExternalStore, type KeyboardEvent, type ReactNode, type Ref } from "react"
import type uPlot from "uplot"
import type { Picture } from "@/charts/drawing/picture"
import type { Cursor } from "@/charts/drawing/plot"
import { largestOf, windowOf } from "@/charts/drawing/window"
import { every } from "@/lib/browser/every"
import { shown, unshown, type AxisView, type Range } from "@/lib/charts/axes"
import type { Board } from "@/lib/charts/board"
import type { DataLine } from "@/lib/charts/chartData"
import { CHART_SHORTCUTS, movedByKey } from "@/lib/charts/chartKeys"
import { hoveredAt } from "@/lib/charts/hover"
import { isEmptyIn, reach, toLines, type ChartLine, type Scale, type Threshold } from "@/lib/charts/lines"
import { markAt, type Mark } from "@/lib/charts/marks"
import { valueUnit, writeValue, type ValueUnit } from "@/lib/charts/scales/units"
import { ChartTooltip, type Pointed } from "./ChartTooltip"
import { imageOf, svgOf } from "./export"
import { Legend, type NextHidden } from "./Legend"
import { usePan } from "./usePan"
import { usePlot } from "./usePlot"
import { useTouch } from "./useTouch"
import classes from "./LineChart.module.css"

/** Lines that change in place and tell so. */
export interface ChartSource {
  lines: readonly DataLine[]
  subscribe: (listener: () => void) => () => void
}

/** Pictures of the chart as it is seen. */
export interface ChartHandle {
  png: () => Promise<Blob>
  svg: () => Blob
}

interface LineChartProps {
  source: ChartSource
  view: AxisView
  board: Board
  smoothing?: number
  scale?: Scale
  threshold?: Threshold | null
  /** Moments to mark, where the axis is time. */
  marks?: readonly Mark[]
  /** Subject of the chart, for people who cannot see it: its lines are named after it. */
  title: string
  /** Title of the values' axis, where it is not that of the chart. */
  valueTitle?: string
  /** Title of pictures, which stand without the page around them. */
  caption?: string
  /** Unit of the values in the catalogue of metrics, or "share". */
  quantity?: string
  hidden: ReadonlySet<string>
  /** Label of the line that stands out; the others are faint then. */
  standsOut?: string | null
  onHide: (next: NextHidden) => void
  /** Charts with the same key share the cross-hair. */
  syncKey: string
  height?: number
  /** In a small card: a legend of many lines is folded. */
  compact?: boolean
  /** Columns are bins of values, not the course of a line. */
  binned?: boolean
  /** Said in a range in which there is no point. */
  nothingHere?: ReactNode
  handle?: Ref<ChartHandle>
}

/** The tooltip says the mark within so many pixels of the pointer. */
const MARK_PX = 5
const SAID_EVERY_MS = 1000
const NO_MARKS: readonly Mark[] = []

/** Lines over one axis, drawn as their source changes. Drag selects a range, shift-drag moves it, double click shows all; so do keys and fingers. */
export function LineChart({ source, view, board, smoothing = 0, scale = "linear", threshold = null, marks = NO_MARKS, hidden, standsOut = null, height = 230, ...props }: LineChartProps) {
  const { title, valueTitle = title, caption = title, quantity = "", onHide, syncKey, binned = false, compact = false, nothingHere, handle } = props
  const scheme = useComputedColorScheme("light")
  const lines = useLines(source, smoothing)
  const range = useSyncExternalStore(board.subscribeResting, board.getResting)
  const isEmpty = useSyncExternalStore(source.subscribe, () => range !== null && isEmptyIn(source.lines, range))
  const pointer = usePointer(lines, hidden, view, marks)
  const picture = useCallback((): Picture => {
    const all = toLines(source.lines, smoothing)
    const visible = all.filter(({ label }) => !hidden.has(label))
    return { lines: visible, view, title: valueTitle, quantity, range: board.get(), scale, threshold, marks, scheme, standsOut }
  }, [source, smoothing, hidden, view, valueTitle, quantity, board, scale, threshold, marks, scheme, standsOut])
  const unit = valueUnit(quantity, largestOf(windowOf(picture())))
  const subscribe = useCallback(
    (listener: () => void) => {
      listener()
      const [one, other] = [source.subscribe(listener), board.subscribe(listener)]
      return () => {
        one()
        other()
      }
    },
    [source, board],
  )
  const select = (from: number, to: number) => board.set({ from: unshown(from, view), to: unshown(to, view) })
  const [element, plot] = usePlot({ picture, subscribe, height, syncKey, onCursor: pointer.onCursor, onSelect: select, onReset: () => board.set(null) })
  const visible = useCallback((): Range | null => board.get() ?? ends(source.lines), [board, source])
  usePan(element, visible, board.set)
  useTouch(element, visible, board.set)
  useImperativeHandle(handle, () => ({
    png: () => imageOf(plot.current!, caption, picture()),
    svg: () => svgOf(plot.current!, caption, picture()),
  }))
  return (
    <div className={classes.chart} onMouseEnter={pointer.onEnter} onMouseLeave={pointer.onLeave}>
      <div
        ref={element}
        className={classes.plot}
        role="img"
        aria-label={`${title}: ${lines.map(inWords(unit, binned)).join("; ")}`}
        aria-keyshortcuts={CHART_SHORTCUTS}
        tabIndex={0}
        style={{ height }}
        onKeyDown={(event) => onKey(event, visible(), board)}
      />
      {pointer.pointed && <ChartTooltip {...pointer.pointed} view={view} unit={unit} scheme={scheme} binned={binned} />}
      {isEmpty && nothingHere && (
        <div className={classes.nothing} style={{ height }} role="status">
          {nothingHere}
        </div>
      )}
      <Legend
        lines={lines} marks={marks} hidden={hidden} at={pointer.pointed?.hovered[0]?.column.x ?? pointer.x} range={range} binned={binned} compact={compact}
        formatX={(x) => view.exact(shown(x, view))} formatY={(y) => writeValue(y, unit)} onHide={onHide} scheme={scheme}
      />
    </div>
  )
}

/** Where the pointer is: its own on this chart, with what the lines have there, or only the place that another chart tells of. */
function usePointer(lines: readonly ChartLine[], hidden: ReadonlySet<string>, view: AxisView, marks: readonly Mark[]) {
  const [x, setX] = useState<number | null>(null)
  const [pointed, setPointed] = useState<Pointed | null>(null)
  const isInside = useRef(false)
  const read = ({ left, top, x }: Cursor, plot: uPlot): Pointed => {
    const ratio = devicePixelRatio
    const scales = { x: (x: number) => plot.valToPos(shown(x, view), "x"), y: (value: number) => plot.valToPos(value, "y") }
    const width = plot.bbox.width / ratio
    const visible = lines.filter(({ label }) => !hidden.has(label))
    const hovered = hoveredAt(visible, scales, left, top, unshown(x, view)).filter(({ column }) => scales.x(column.x) >= 0 && scales.x(column.x) <= width)
    const reach = (unshown(plot.posToVal(MARK_PX, "x"), view) - unshown(plot.posToVal(0, "x"), view))
    return { hovered, mark: markAt(marks, unshown(x, view), reach), share: (left + plot.bbox.left / ratio) / plot.width, top: top + plot.bbox.top / ratio }
  }
  return {
    x,
    pointed,
    onCursor: (cursor: Cursor | null, plot: uPlot) => {
      setX(cursor && unshown(cursor.x, view))
      setPointed(cursor && isInside.current ? read(cursor, plot) : null)
    },
    onEnter: () => void (isInside.current = true),
    onLeave: () => {
      isInside.current = false
      setPointed(null)
    },
  }
}

/** The lines as words and legend tell them: once a second is enough for reading. */
function useLines(source: ChartSource, smoothing: number): ChartLine[] {
  const [lines, setLines] = useState(() => toLines(source.lines, smoothing))
  useEffect(() => {
    const read = () => setLines(toLines(source.lines, smoothing))
    const begin = window.setTimeout(read)
    const stop = every(SAID_EVERY_MS, source.subscribe, read)
    return () => {
      window.clearTimeout(begin)
      stop()
    }
  }, [source, smoothing])
  return lines
}

function ends(lines: readonly DataLine[]): Range | null {
  const found = reach(lines)
  return found && found[0] < found[1] ? { from: found[0], to: found[1] } : null
}

function onKey(event: KeyboardEvent, range: Range | null, board: Board): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const next = movedByKey(event.key, range)
  if (next === undefined) return
  event.preventDefault()
  board.set(next)
}

function inWords(unit: ValueUnit, binned: boolean) {
  return ({ label, total, latest, odd }: ChartLine) =>
    `${label}, ${total} points${binned ? "" : `, latest ${writeValue(latest, unit)}`}${odd > 0 ? `, ${odd} not finite` : ""}`
}
