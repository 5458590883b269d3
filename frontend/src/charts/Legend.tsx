import { nearest } from "@/lib/align"
import { seriesColor, seriesDash, type Scheme } from "./palette"
import type { ChartLine } from "@/lib/lines"
import classes from "./Legend.module.css"

interface LegendProps {
  lines: readonly ChartLine[]
  hidden: ReadonlySet<string>
  /** The x under the cursor, or null: then the latest values stand here. */
  at: number | null
  formatX: (x: number) => string
  formatY: (y: number) => string
  onToggle: (label: string) => void
  scheme: Scheme
}

export function Legend({ lines, hidden, at, formatX, formatY, onToggle, scheme }: LegendProps) {
  return (
    <div className={classes.legend}>
      {lines.map((line) => (
        <button key={line.label} type="button" className={classes.item} aria-pressed={!hidden.has(line.label)} onClick={() => onToggle(line.label)}>
          <svg width="22" height="8" aria-hidden>
            <line x1="0" y1="4" x2="22" y2="4" stroke={seriesColor(line.index, scheme)} strokeWidth="2.5" strokeDasharray={seriesDash(line.index).join(" ")} />
          </svg>
          <span>{line.label}</span>
          <span className={classes.value}>{formatY(valueAt(line, at))}</span>
        </button>
      ))}
      <span className={classes.at}>{at === null ? "latest" : `at ${formatX(at)}`}</span>
    </div>
  )
}

function valueAt({ xs, ys }: ChartLine, at: number | null): number {
  return ys[at === null ? ys.length - 1 : nearest(xs, at)] ?? NaN
}
