import { useComputedColorScheme } from "@mantine/core"
import { useElementSize } from "@mantine/hooks"
import type { ParallelAxis } from "@/lib/compare/parallel"
import type { FieldRange } from "@/lib/compare/ranges"
import { AxisBrush } from "./AxisBrush"
import { seriesColor, seriesDash } from "./palette"
import classes from "./ParallelCoordinates.module.css"

interface ParallelCoordinatesProps {
  axes: readonly ParallelAxis[]
  /** In the order of the places on the axes. Those that are not `drawn` lie outside a range. */
  lines: readonly { key: string; label: string; index: number; drawn: boolean }[]
  title: string
  ranges: readonly FieldRange[]
  onRange: (range: FieldRange) => void
  /** Key of the line that stands out. */
  standsOut: string | null
  onPoint: (key: string | null) => void
  onPick: (key: string) => void
  height?: number
}

/** Less is not readable: then the drawing scrolls. */
const NARROWEST = 124
const [TOP, BOTTOM, SIDE] = [34, 14, 62]
const LONGEST = 17
/** Opacity of lines outside a range. */
const OUTSIDE = 0.08

/** A line for each job across its settings and results. A drag along an axis selects a range, a click on it clears the range. */
export function ParallelCoordinates({ axes, lines, title, ranges, onRange, standsOut, onPoint, onPick, height = 300 }: ParallelCoordinatesProps) {
  const { ref, width: available } = useElementSize<HTMLDivElement>()
  const scheme = useComputedColorScheme("light")
  const width = Math.max(available, 2 * SIDE + NARROWEST * (axes.length - 1))
  const x = (axis: number) => (axes.length === 1 ? width / 2 : SIDE + ((width - 2 * SIDE) * axis) / (axes.length - 1))
  const y = (place: number) => TOP + (height - TOP - BOTTOM) * (1 - place)
  const chosen = lines.findIndex(({ key }) => key === standsOut)
  const opacity = (line: number) => (!lines[line]!.drawn ? OUTSIDE : chosen >= 0 && line !== chosen ? 0.13 : 1)
  return (
    <div>
      <div ref={ref} className={classes.scroll} tabIndex={0} role="region" aria-label={`${title}, drawn`}>
        <svg width={width} height={height} role="img" aria-label={`${title}: ${lines.length} jobs over ${axes.map(({ label }) => label).join(", ")}`}>
          {axes.map((axis, index) => (
            <Axis key={axis.key} axis={axis} x={x(index)} y={y} />
          ))}
          {lines.map(({ key, index }, line) => {
            const path = pathOf(axes, line, x, y)
            return (
              <g key={key} opacity={opacity(line)} onPointerEnter={() => onPoint(key)} onPointerLeave={() => onPoint(null)} onClick={() => onPick(key)}>
                <path d={path} className={classes.reach} />
                <path d={path} className={classes.line} stroke={seriesColor(index, scheme)} strokeDasharray={seriesDash(index).join(" ")} strokeWidth={line === chosen ? 3 : 1.8} />
                {axes.map((axis, place) => axis.places[line] != null && <circle key={axis.key} cx={x(place)} cy={y(axis.places[line])} r={3} fill={seriesColor(index, scheme)} />)}
              </g>
            )
          })}
          {axes.map((axis, index) => (
            <Ticks key={axis.key} axis={axis} x={x(index)} y={y} />
          ))}
          {axes.map((axis, index) => (
            <AxisBrush key={axis.key} axis={axis} x={x(index)} y={y} range={ranges.find(({ field }) => field === axis.key) ?? null} onRange={onRange} />
          ))}
        </svg>
      </div>
      <p className={classes.told} role="status">
        {chosen >= 0 && `${lines[chosen]!.label}: ${told(axes, chosen)}`}
      </p>
    </div>
  )
}

function Axis({ axis, x, y }: { axis: ParallelAxis; x: number; y: (place: number) => number }) {
  return (
    <g>
      <line x1={x} x2={x} y1={y(1)} y2={y(0)} className={classes.axis} />
      <text x={x} y={y(1) - 16} textAnchor="middle" className={classes.label}>
        <title>{axis.label}</title>
        {shortened(axis.label)}
      </text>
    </g>
  )
}

/** Over the lines, so that they can be read. */
function Ticks({ axis, x, y }: { axis: ParallelAxis; x: number; y: (place: number) => number }) {
  return axis.ticks.map(({ at, text }) => (
    <text key={text + String(at)} x={x + 8} y={y(at) + 4} className={classes.tick}>
      {shortened(text)}
    </text>
  ))
}

/** Where a job has no value its line is broken. */
function pathOf(axes: readonly ParallelAxis[], line: number, x: (axis: number) => number, y: (place: number) => number): string {
  return axes
    .map(({ places }, axis) => {
      const place = places[line]
      if (place == null) return ""
      return `${axis > 0 && axes[axis - 1]!.places[line] != null ? "L" : "M"}${x(axis).toFixed(1)} ${y(place).toFixed(1)}`
    })
    .join("")
}

/** The end of a path says most. */
function shortened(text: string): string {
  return text.length <= LONGEST ? text : `…${text.slice(1 - LONGEST)}`
}

function told(axes: readonly ParallelAxis[], line: number): string {
  return axes.map(({ label, texts }) => `${label} ${texts[line]}`).join(" · ")
}
