import { useState, type PointerEvent } from "react"
import { draggedRange, rangePlaces, type ParallelAxis } from "@/lib/compare/parallel"
import type { FieldRange } from "@/lib/compare/ranges"
import classes from "./ParallelCoordinates.module.css"

interface AxisBrushProps {
  axis: ParallelAxis
  x: number
  y: (place: number) => number
  range: FieldRange | null
  onRange: (range: FieldRange) => void
}

/** Pixels to each side of the axis that take a drag. */
const REACH = 7

/** Selects a range of one axis of numbers with the pointer. */
export function AxisBrush({ axis, x, y, range, onRange }: AxisBrushProps) {
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null)
  const [top, bottom] = [y(1), y(0)]
  const placeOf = ({ currentTarget, clientY }: PointerEvent) => {
    const box = currentTarget.getBoundingClientRect()
    return 1 - (clientY - box.top - REACH) / (bottom - top)
  }
  const begin = (event: PointerEvent) => {
    event.currentTarget.setPointerCapture(event.pointerId)
    setDrag({ from: placeOf(event), to: placeOf(event) })
  }
  const end = () => {
    if (!drag) return
    setDrag(null)
    onRange({ field: axis.key, ...(draggedRange(axis, drag.from, drag.to) ?? { low: null, high: null }) })
  }
  if (!axis.extent) return null
  const inside = (place: number) => Math.min(1, Math.max(0, place))
  const places = drag ? [drag.from, drag.to].map(inside).sort((a, b) => a - b) : range ? rangePlaces(axis, range) : null
  return (
    <g>
      {places && <rect x={x - REACH} width={2 * REACH} y={y(places[1]!)} height={Math.max(1, y(places[0]!) - y(places[1]!))} className={classes.selected} />}
      <rect
        x={x - REACH} width={2 * REACH} y={top - REACH} height={bottom - top + 2 * REACH} className={classes.brush}
        onPointerDown={begin} onPointerMove={(event) => drag && setDrag({ ...drag, to: placeOf(event) })} onPointerUp={end} onPointerCancel={() => setDrag(null)}
      />
    </g>
  )
}
