import { useEffect, useRef } from "react"
import { heatShare, type Heat } from "@/lib/staleness/heat"
import type { Mark } from "@/lib/charts/marks"
import { drawMarks } from "./drawing/marks"
import { heatColor } from "./heatColor"
import type { Scheme } from "./palette"
import { useWidth } from "./useWidth"

export interface Cell {
  row: number
  slice: number
  /** The slice that several are selected from; undefined: this one alone is looked at. */
  since?: number | undefined
}

export const ROW_PX = 26

/** The first and the last slice that are selected. */
export function spanOf({ slice, since = slice }: Cell): [first: number, last: number] {
  return [Math.min(slice, since), Math.max(slice, since)]
}

/** Draws the cells and the marks, and a frame around the cell that is looked at, or around all of the times that are selected. */
export function useCells(heat: Heat, selected: Cell | null, marks: readonly Mark[], scheme: Scheme) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(canvas)
  useEffect(() => {
    const { current } = canvas
    const context = current?.getContext("2d")
    if (!current || !context || width === 0) return
    const ratio = devicePixelRatio
    current.width = width * ratio
    current.height = ROW_PX * heat.ranks.length * ratio
    context.scale(ratio, ratio)
    const across = width / heat.slices
    heat.shown.forEach((cells, row) =>
      cells.forEach((value, slice) => {
        if (value === null) return
        context.fillStyle = heatColor(heatShare(value, heat), scheme)
        context.fillRect(slice * across, row * ROW_PX + 1, across + 0.6, ROW_PX - 2)
      }),
    )
    context.save()
    context.resetTransform()
    const box = { left: 0, top: 0, width: current.width, height: current.height }
    drawMarks(context, marks, (x) => (current.width * (x - heat.from)) / (heat.to - heat.from), box)
    context.restore()
    if (!selected) return
    context.strokeStyle = getComputedStyle(current).color
    context.lineWidth = 2
    const [first, last] = spanOf(selected)
    const [row, rows] = first < last ? [0, heat.ranks.length] : [selected.row, 1]
    context.strokeRect(first * across, row * ROW_PX + 1, Math.max((last - first + 1) * across, 4), rows * ROW_PX - 2)
  }, [heat, selected, marks, scheme, width])
  return canvas
}
