import { useComputedColorScheme } from "@mantine/core"
import { useElementSize } from "@mantine/hooks"
import type { ScatterAxis, ScatterPoint } from "@/lib/compare/scatter"
import { seriesColor } from "./palette"
import plot from "./Plot.module.css"
import classes from "./ScatterPlot.module.css"

interface ScatterPlotProps {
  x: ScatterAxis
  y: ScatterAxis
  points: readonly ScatterPoint[]
  title: string
  /** Key of the point that stands out, with its values beside the plot. */
  standsOut: string | null
  onPoint: (key: string | null) => void
  onPick: (key: string) => void
  height?: number
}

const [LEFT, RIGHT, TOP, BOTTOM] = [88, 24, 14, 46]
const RADIUS = 6

/** A dot for each job at its values of two fields. */
export function ScatterPlot({ x, y, points, title, standsOut, onPoint, onPick, height = 320 }: ScatterPlotProps) {
  const { ref, width } = useElementSize<HTMLDivElement>()
  const scheme = useComputedColorScheme("light")
  const across = (place: number) => LEFT + Math.max(0, width - LEFT - RIGHT) * place
  const up = (place: number) => TOP + (height - TOP - BOTTOM) * (1 - place)
  const known = points.find(({ key }) => key === standsOut)
  return (
    <div ref={ref} className={plot.plot}>
      <svg width="100%" height={height} role="img" aria-label={`${title}: ${points.map(({ label, text }) => `${label}, ${text}`).join("; ")}`}>
        <Grid x={x} y={y} across={across} up={up} />
        {points.map(({ key, index, x, y }) => (
          <circle
            key={key} cx={across(x)} cy={up(y)} r={key === standsOut ? RADIUS + 2 : RADIUS} fill={seriesColor(index, scheme)} className={classes.dot}
            opacity={known && key !== standsOut ? 0.3 : 1} onPointerEnter={() => onPoint(key)} onPointerLeave={() => onPoint(null)} onClick={() => onPick(key)}
          />
        ))}
      </svg>
      {known && (
        <div className={classes.tooltip} data-left={known.x > 0.6 || undefined} style={{ left: across(known.x), top: up(known.y) }}>
          <b>{known.label}</b>
          <span>{known.text}</span>
        </div>
      )}
    </div>
  )
}

interface GridProps extends Pick<ScatterPlotProps, "x" | "y"> {
  across: (place: number) => number
  up: (place: number) => number
}

function Grid({ x, y, across, up }: GridProps) {
  return (
    <g>
      {x.ticks.map(({ at, text }) => (
        <g key={`${at} ${text}`}>
          <line x1={across(at)} x2={across(at)} y1={up(0)} y2={up(1)} className={plot.grid} />
          <text x={across(at)} y={up(0) + 18} textAnchor="middle" className={plot.tick}>
            {text}
          </text>
        </g>
      ))}
      {y.ticks.map(({ at, text }) => (
        <g key={`${at} ${text}`}>
          <line x1={across(0)} x2={across(1)} y1={up(at)} y2={up(at)} className={plot.grid} />
          <text x={across(0) - 12} y={up(at) + 4} textAnchor="end" className={plot.tick}>
            {text}
          </text>
        </g>
      ))}
      <text x={across(0.5)} y={up(0) + 38} textAnchor="middle" className={plot.label}>
        {x.label}
      </text>
      <text transform={`translate(12 ${up(0.5)}) rotate(-90)`} textAnchor="middle" className={plot.label}>
        {y.label}
      </text>
    </g>
  )
}
