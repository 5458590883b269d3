import { useComputedColorScheme } from "@mantine/core"
import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent } from "react"
import { ticksBetween } from "@/lib/charts/scales/ticks"
import { formatPercent } from "@/lib/format"
import type { Binned } from "@/lib/media/media"
import { heatColor } from "./heatColor"
import { HeatScale } from "./HeatScale"
import { useWidth } from "./useWidth"
import classes from "./DistributionMap.module.css"

interface DistributionMapProps {
  map: Binned
  label: string
  /** One for each histogram. `tick`: on the axis; `says`: of a selected cell. */
  columns: readonly { key: number; tick: string; says: string }[]
  axis: string
  format: (value: number) => string
  /** Values with a tick, where round numbers would be none. */
  ticks?: readonly number[]
}

interface Cell {
  column: number
  bin: number
}

const HEIGHT = 220
const VALUE_TICKS = 6
const COLUMN_TICKS = 5
/** The scale of colours is a root, so that tails are seen, too. Its middle stands for this part of the highest share. */
const EXPONENT = 0.5
const MIDDLE = 0.5 ** (1 / EXPONENT)
const MOVES: Record<string, [columns: number, bins: number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }

/** Distributions side by side: upwards the values, darker where more of them lie. */
export function DistributionMap({ map, label, columns, axis, format, ticks }: DistributionMapProps) {
  const scheme = useComputedColorScheme("light")
  const [cell, setCell] = useState<Cell | null>(null)
  const bins = map.shares[0]?.length ?? 1
  const canvas = useColumns(map, scheme)
  const at = (event: PointerEvent<HTMLElement>): Cell => {
    const { left, top, width, height } = event.currentTarget.getBoundingClientRect()
    const [across, up] = [(event.clientX - left) / width, 1 - (event.clientY - top) / height]
    return { column: limited(Math.floor(across * columns.length), columns.length), bin: limited(Math.floor(up * bins), bins) }
  }
  const onKey = (event: KeyboardEvent) => {
    const move = MOVES[event.key]
    if (!move) return
    event.preventDefault()
    setCell((before) => (before ? { column: limited(before.column + move[0], columns.length), bin: limited(before.bin + move[1], bins) } : { column: columns.length - 1, bin: bins >> 1 }))
  }
  const places = ticks ?? ticksBetween(map.low, map.high, VALUE_TICKS, false).places
  return (
    <div>
      <div className={classes.map} style={{ height: HEIGHT }}>
        {places.map((place) => (
          <span key={place} className={classes.value} style={{ bottom: `${(100 * (place - map.low)) / (map.high - map.low)}%` }} aria-hidden>
            {format(place)}
          </span>
        ))}
        <canvas
          ref={canvas}
          className={classes.cells}
          role="img"
          aria-label={label}
          aria-keyshortcuts="ArrowLeft ArrowRight ArrowUp ArrowDown"
          tabIndex={0}
          onPointerMove={(event) => setCell(at(event))}
          onPointerDown={(event) => setCell(at(event))}
          onPointerLeave={() => setCell(null)}
          onBlur={() => setCell(null)}
          onKeyDown={onKey}
        />
      </div>
      <Ticks columns={columns} axis={axis} />
      <div className={classes.foot}>
        <HeatScale middle={formatPercent(map.highest * MIDDLE)} highest={`${formatPercent(map.highest)} of the values`} />
        <span aria-live="polite">{cell && columns[cell.column] ? saidOf(map, cell, columns[cell.column]!.says, format) : "Select a cell to see its share"}</span>
      </div>
    </div>
  )
}

function saidOf({ low, high, shares }: Binned, { column, bin }: Cell, place: string, format: (value: number) => string): string {
  const width = (high - low) / (shares[column]?.length ?? 1)
  return `${place}: ${formatPercent(shares[column]?.[bin] ?? 0)} from ${format(low + bin * width)} to ${format(low + (bin + 1) * width)}`
}

function Ticks({ columns, axis }: Pick<DistributionMapProps, "columns" | "axis">) {
  const every = Math.max(1, Math.ceil(columns.length / COLUMN_TICKS))
  return (
    <div className={classes.ticks} aria-hidden>
      {columns.map(({ key, tick }, column) =>
        column % every === 0 ? (
          <span key={key} style={{ left: `${(100 * (column + 0.5)) / columns.length}%` }}>
            {column === 0 ? `${axis} ${tick}` : tick}
          </span>
        ) : null,
      )}
    </div>
  )
}

function useColumns({ shares, highest }: Binned, scheme: "light" | "dark") {
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useWidth(canvas)
  useEffect(() => {
    const { current } = canvas
    const context = current?.getContext("2d")
    if (!current || !context || width === 0) return
    current.width = width * devicePixelRatio
    current.height = HEIGHT * devicePixelRatio
    const across = current.width / shares.length
    shares.forEach((column, index) => {
      const up = current.height / column.length
      column.forEach((share, bin) => {
        if (share === 0) return
        context.fillStyle = heatColor((share / highest) ** EXPONENT, scheme)
        context.fillRect(Math.floor(index * across), Math.floor(current.height - (bin + 1) * up), Math.ceil(across), Math.ceil(up))
      })
    })
  }, [shares, highest, scheme, width])
  return canvas
}

function limited(index: number, length: number): number {
  return Math.min(length - 1, Math.max(0, index))
}
