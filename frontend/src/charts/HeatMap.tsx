import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react"
import type { Range } from "@/lib/charts/axes"
import { slicesRange, type Heat } from "@/lib/charts/heat"
import { heatColor, heatGradient } from "./heatColor"
import classes from "./HeatMap.module.css"

interface HeatMapProps {
  heat: Heat
  label: string
  formatX: (x: number, step?: number) => string
  /** With its unit. */
  formatValue: (value: number) => string
  /** Said of a cell without a value. */
  none: string
  /** A cell was selected, or several beside each other. */
  onPick: (range: Range) => void
}

interface Cell {
  row: number
  slice: number
  /** The slice that several are selected from; undefined: this one alone is looked at. */
  since?: number | undefined
}

const ROW_PX = 26
const MOVES: Record<string, [rows: number, slices: number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

/** Worker by time. A click or Enter on a cell leads to its times, a drag or shift with arrows over several to theirs; arrows go from cell to cell. */
export function HeatMap({ heat, label, formatX, formatValue, none, onPick }: HeatMapProps) {
  const { ranks, from, to, slices, highest } = heat
  const [cell, setCell] = useState<Cell | null>(null)
  const canvas = useCells(heat, cell)
  const at = (event: PointerEvent<HTMLElement>): Cell => {
    const { left, top, width } = event.currentTarget.getBoundingClientRect()
    return { row: limited(Math.floor((event.clientY - top) / ROW_PX), ranks.length), slice: limited(Math.floor(((event.clientX - left) / width) * slices), slices) }
  }
  const onDown = (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0) return
    event.currentTarget.setPointerCapture(event.pointerId)
    const begun = at(event)
    setCell({ ...begun, since: begun.slice })
  }
  const pick = (picked: Cell) => {
    onPick(slicesRange(heat, ...spanOf(picked)))
    setCell({ ...picked, since: undefined })
  }
  const onKey = (event: KeyboardEvent) => {
    const move = MOVES[event.key]
    if (move) {
      event.preventDefault()
      setCell((before) => moved(before, move, event.shiftKey, heat))
    } else if (cell && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault()
      pick(cell)
    }
  }
  return (
    <div>
      <div className={classes.map}>
        <div className={classes.ranks} aria-hidden>
          {ranks.map((rank) => (
            <span key={rank} style={{ height: ROW_PX }}>
              worker {rank}
            </span>
          ))}
        </div>
        <canvas
          ref={canvas}
          className={classes.cells}
          style={{ height: ROW_PX * ranks.length }}
          role="img"
          aria-label={label}
          aria-keyshortcuts="ArrowLeft ArrowRight ArrowUp ArrowDown Shift+ArrowLeft Shift+ArrowRight Enter"
          tabIndex={0}
          onPointerDown={onDown}
          onPointerMove={(event) => setCell({ ...at(event), since: cell?.since })}
          onPointerUp={(event) => cell?.since !== undefined && pick({ ...at(event), since: cell.since })}
          onPointerLeave={() => setCell(null)}
          onPointerCancel={() => setCell(null)}
          onBlur={() => setCell(null)}
          onKeyDown={onKey}
        />
        <div className={classes.times} aria-hidden>
          <span>{formatX(from)}</span>
          <span>{formatX((from + to) / 2)}</span>
          <span>{formatX(to)}</span>
        </div>
      </div>
      <div className={classes.foot}>
        <span className={classes.scale}>
          0 <i style={{ background: heatGradient() }} aria-hidden /> {formatValue(highest)}
        </span>
        <span aria-live="polite">{cell ? told(heat, cell, { formatX, formatValue, none }) : "Select a cell, or drag over several, to see their time on all charts"}</span>
      </div>
    </div>
  )
}

/** The first and the last slice that are selected. */
function spanOf({ slice, since = slice }: Cell): [first: number, last: number] {
  return [Math.min(slice, since), Math.max(slice, since)]
}

function moved(before: Cell | null, [rows, slices]: [rows: number, slices: number], extending: boolean, heat: Heat): Cell {
  if (!before) return { row: 0, slice: 0 }
  const since = extending && slices !== 0 ? (before.since ?? before.slice) : undefined
  return { row: limited(before.row + rows, heat.ranks.length), slice: limited(before.slice + slices, heat.slices), since }
}

function told(heat: Heat, cell: Cell, { formatX, formatValue, none }: Pick<HeatMapProps, "formatX" | "formatValue" | "none">): string {
  const [first, last] = spanOf(cell)
  const { from, to } = slicesRange(heat, first, last)
  const when = `${formatX(from, to - from)} to ${formatX(to, to - from)}`
  if (first < last) return `${when}, of all workers`
  const value = heat.values[cell.row]?.[cell.slice] ?? null
  return `worker ${heat.ranks[cell.row]}, ${when}: ${value === null ? none : formatValue(value)}`
}

/** Draws the cells, and a frame around the one that is looked at, or around all of the times that are selected. */
function useCells(heat: Heat, selected: Cell | null) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry!.contentRect.width))
    observer.observe(canvas.current!)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    const { current } = canvas
    const context = current?.getContext("2d")
    if (!current || !context || width === 0) return
    const ratio = devicePixelRatio
    current.width = width * ratio
    current.height = ROW_PX * heat.ranks.length * ratio
    context.scale(ratio, ratio)
    const across = width / heat.slices
    heat.values.forEach((cells, row) =>
      cells.forEach((value, slice) => {
        if (value === null) return
        context.fillStyle = heatColor(heat.highest > 0 ? value / heat.highest : 0)
        context.fillRect(slice * across, row * ROW_PX + 1, across + 0.6, ROW_PX - 2)
      }),
    )
    if (!selected) return
    context.strokeStyle = getComputedStyle(current).color
    context.lineWidth = 2
    const [first, last] = spanOf(selected)
    const [row, rows] = first < last ? [0, heat.ranks.length] : [selected.row, 1]
    context.strokeRect(first * across, row * ROW_PX + 1, Math.max((last - first + 1) * across, 4), rows * ROW_PX - 2)
  }, [heat, selected, width])
  return canvas
}

function limited(index: number, length: number): number {
  return Math.min(length - 1, Math.max(0, index))
}
