import { useEffect, useRef, useState, type KeyboardEvent, type MouseEvent } from "react"
import { sliceRange, type Heat } from "@/lib/heat"
import type { Range } from "@/lib/axes"
import { heatColor, heatGradient } from "./heatColor"
import classes from "./HeatMap.module.css"

interface HeatMapProps {
  heat: Heat
  label: string
  unit: string
  formatX: (x: number, step?: number) => string
  formatValue: (value: number | null) => string
  /** A cell was chosen. */
  onPick: (range: Range) => void
}

interface Cell {
  row: number
  slice: number
}

const ROW_PX = 26
const MOVES: Record<string, [rows: number, slices: number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

/** Worker by time. A click or Enter on a cell leads to its times; arrows go from cell to cell. */
export function HeatMap({ heat, label, unit, formatX, formatValue, onPick }: HeatMapProps) {
  const { ranks, from, to, slices, highest } = heat
  const [cell, setCell] = useState<Cell | null>(null)
  const canvas = useCells(heat, cell)
  const at = (event: MouseEvent<HTMLElement>): Cell => {
    const { left, top, width } = event.currentTarget.getBoundingClientRect()
    return { row: limited(Math.floor((event.clientY - top) / ROW_PX), ranks.length), slice: limited(Math.floor(((event.clientX - left) / width) * slices), slices) }
  }
  const onKey = (event: KeyboardEvent) => {
    const move = MOVES[event.key]
    if (move) {
      event.preventDefault()
      setCell((before) => (before ? { row: limited(before.row + move[0], ranks.length), slice: limited(before.slice + move[1], slices) } : { row: 0, slice: 0 }))
    } else if (cell && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault()
      onPick(sliceRange(heat, cell.slice))
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
          aria-keyshortcuts="ArrowLeft ArrowRight ArrowUp ArrowDown Enter"
          tabIndex={0}
          onMouseMove={(event) => setCell(at(event))}
          onMouseLeave={() => setCell(null)}
          onBlur={() => setCell(null)}
          onClick={(event) => onPick(sliceRange(heat, at(event).slice))}
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
          0 <i style={{ background: heatGradient() }} aria-hidden /> {formatValue(highest)} {unit}
        </span>
        <span aria-live="polite">{cell ? told(heat, cell, formatX, formatValue, unit) : "Choose a cell to see its time on all charts"}</span>
      </div>
    </div>
  )
}

function told(heat: Heat, { row, slice }: Cell, formatX: HeatMapProps["formatX"], formatValue: HeatMapProps["formatValue"], unit: string): string {
  const value = heat.values[row]?.[slice] ?? null
  const { from, to } = sliceRange(heat, slice)
  const when = `${formatX(from, to - from)} to ${formatX(to, to - from)}`
  return `worker ${heat.ranks[row]}, ${when}: ${value === null ? "no push" : `${formatValue(value)} ${unit}`}`
}

/** Draws the cells, and a frame around the one that is looked at. */
function useCells(heat: Heat, chosen: Cell | null) {
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
    if (!chosen) return
    context.strokeStyle = getComputedStyle(current).color
    context.lineWidth = 2
    context.strokeRect(chosen.slice * across, chosen.row * ROW_PX + 1, Math.max(across, 4), ROW_PX - 2)
  }, [heat, chosen, width])
  return canvas
}

function limited(index: number, length: number): number {
  return Math.min(length - 1, Math.max(0, index))
}
