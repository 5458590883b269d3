import { useComputedColorScheme } from "@mantine/core"
import { useState, type KeyboardEvent, type PointerEvent } from "react"
import { shown, type AxisView, type Range } from "@/lib/charts/axes"
import { middleOf, slicesRange, type Heat } from "@/lib/staleness/heat"
import { markAt, type Mark } from "@/lib/charts/marks"
import { ticksBetween } from "@/lib/charts/scales/ticks"
import { HeatScale } from "./HeatScale"
import { MarksKey } from "./MarksKey"
import { ROW_PX, spanOf, useCells, type Cell } from "./useCells"
import classes from "./HeatMap.module.css"

interface HeatMapProps {
  heat: Heat
  label: string
  view: AxisView
  /** Where the axis is time: moments to mark. */
  marks: readonly Mark[]
  /** With its unit. */
  formatValue: (value: number) => string
  /** Said of a cell without a value. */
  none: string
  /** A cell was selected, or several beside each other. */
  onPick: (range: Range) => void
}

/** A tick for so many cells: 100 pixels. */
const CELLS_PER_TICK = 10
const MOVES: Record<string, [rows: number, slices: number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }

/** Worker by time, or by another axis. A click or Enter on a cell leads to its times, a drag or shift with arrows over several to theirs; arrows go from cell to cell. */
export function HeatMap({ heat, label, view, marks, formatValue, none, onPick }: HeatMapProps) {
  const { ranks, slices } = heat
  const scheme = useComputedColorScheme("light")
  const [cell, setCell] = useState<Cell | null>(null)
  const canvas = useCells(heat, cell, marks, scheme)
  const said = cell && saidOf(heat, cell, { view, marks, formatValue, none })
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
        <div className={classes.body}>
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
          {cell && (
            <div className={classes.tooltip} style={{ top: ROW_PX * (cell.row + 1) + 6, left: `${middle(cell, slices)}%`, transform: `translateX(-${middle(cell, slices)}%)` }} aria-hidden>
              {said}
            </div>
          )}
        </div>
        <Ticks heat={heat} view={view} />
      </div>
      <Foot {...{ heat, marks, formatValue, said }} />
    </div>
  )
}

function moved(before: Cell | null, [rows, slices]: [rows: number, slices: number], extending: boolean, heat: Heat): Cell {
  if (!before) return { row: 0, slice: 0 }
  const since = extending && slices !== 0 ? (before.since ?? before.slice) : undefined
  return { row: limited(before.row + rows, heat.ranks.length), slice: limited(before.slice + slices, heat.slices), since }
}

function saidOf(heat: Heat, cell: Cell, { view, marks, formatValue, none }: Pick<HeatMapProps, "view" | "marks" | "formatValue" | "none">): string {
  const [first, last] = spanOf(cell)
  const { from, to } = slicesRange(heat, first, last)
  const [begin, end] = [from, to].map((x) => view.format(shown(x, view), (to - from) / view.unit)) as [string, string]
  const when = `${begin} to ${end}`
  if (first < last) return `${when}, of all workers`
  const mark = markAt(marks, (from + to) / 2, (to - from) / 2)
  const [value, next] = [heat.values, heat.shown].map((rows) => rows[cell.row]?.[cell.slice] ?? null) as [number | null, number | null]
  const told = value !== null ? formatValue(value) : next === null ? none : `${none}, the next ${formatValue(next)}`
  return `worker ${heat.ranks[cell.row]}, ${when}: ${told}${mark ? `; ${mark.text}` : ""}`
}

function Foot({ heat, marks, formatValue, said }: Pick<HeatMapProps, "heat" | "marks" | "formatValue"> & { said: string | null }) {
  return (
    <div className={classes.foot}>
      <HeatScale middle={formatValue(middleOf(heat))} highest={formatValue(heat.highest)} />
      <MarksKey marks={marks} />
      <span className={classes.said} aria-live="polite">
        {said ?? "Select a cell, or drag over several, to see their range on all charts"}
      </span>
    </div>
  )
}

/** The middle of a cell, in percent of the width. */
function middle({ slice }: Cell, slices: number): number {
  return (100 * (slice + 0.5)) / slices
}

function Ticks({ heat: { from, to, slices }, view }: { heat: Heat; view: AxisView }) {
  const [begin, end] = [shown(from, view), shown(to, view)]
  const { places, step } = ticksBetween(begin, end, Math.max(2, slices / CELLS_PER_TICK), view.wire === "time")
  return (
    <div className={classes.ticks} aria-hidden>
      {places.map((place) => (
        <span key={place} style={{ left: `${(100 * (place - begin)) / (end - begin)}%` }}>
          {view.format(place, step)}
        </span>
      ))}
    </div>
  )
}

function limited(index: number, length: number): number {
  return Math.min(length - 1, Math.max(0, index))
}
