import "uplot/dist/uPlot.min.css"
import { useComputedColorScheme } from "@mantine/core"
import { useCallback, useEffect, useImperativeHandle, useState, type KeyboardEvent, type Ref } from "react"
import { shown, unshown, type AxisView, type Range } from "@/lib/axes"
import type { Board } from "@/lib/board"
import { CHART_SHORTCUTS, movedByKey } from "@/lib/chartKeys"
import { every } from "@/lib/every"
import { reach, toLines, type ChartLine, type Scale, type Threshold } from "@/lib/lines"
import type { DataLine } from "@/lib/chartData"
import { imageOf, svgOf } from "./export"
import { Legend } from "./Legend"
import type { Picture } from "./picture"
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
  /** What is drawn, for those who cannot see it: its lines are named after it. */
  title: string
  formatY: (y: number) => string
  hidden: ReadonlySet<string>
  onHide: (hidden: string[]) => void
  /** Charts with the same key share the cross-hair. */
  syncKey: string
  height?: number
  scattered?: boolean
  handle?: Ref<ChartHandle>
}

const SAID_EVERY_MS = 1000

/** Lines over one axis, drawn as their source changes. Drag selects a range, shift-drag moves it, double click shows all; so do keys and fingers. */
export function LineChart({ source, view, board, smoothing = 0, scale = "linear", threshold = null, hidden, height = 230, ...props }: LineChartProps) {
  const { title, formatY, onHide, syncKey, scattered = false, handle } = props
  const scheme = useComputedColorScheme("light")
  const [cursor, setCursor] = useState<number | null>(null)
  const lines = useLines(source, smoothing)
  const picture = useCallback((): Picture => {
    const all = toLines(source.lines, smoothing)
    const visible = all.filter(({ label }) => !hidden.has(label))
    return { lines: visible, view, range: board.get(), scale, threshold, scheme, scattered }
  }, [source, smoothing, hidden, view, board, scale, threshold, scheme, scattered])
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
  const [element, plot] = usePlot({ picture, subscribe, height, syncKey, onCursor: setCursor, onSelect: select, onReset: () => board.set(null) })
  const visible = useCallback((): Range | null => board.get() ?? ends(source.lines), [board, source])
  usePan(element, visible, board.set)
  useTouch(element, visible, board.set)
  useImperativeHandle(handle, () => ({
    png: () => imageOf(plot.current!, title, picture()),
    svg: () => svgOf(plot.current!, title, picture()),
  }))
  return (
    <div>
      <div
        ref={element}
        className={classes.plot}
        role="img"
        aria-label={`${title}: ${lines.map(inWords(formatY)).join("; ")}`}
        aria-keyshortcuts={CHART_SHORTCUTS}
        tabIndex={0}
        style={{ height }}
        onKeyDown={(event) => onKey(event, visible(), board)}
      />
      <Legend lines={lines} hidden={hidden} at={cursor === null ? null : unshown(cursor, view)} formatX={(x) => view.format(shown(x, view))} formatY={formatY} onHide={onHide} scheme={scheme} />
    </div>
  )
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

function inWords(formatY: (y: number) => string) {
  return ({ label, total, latest }: ChartLine) => `${label}, ${total} points, latest ${formatY(latest ?? NaN)}`
}
