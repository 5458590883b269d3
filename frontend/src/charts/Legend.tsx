import { memo, type MouseEvent } from "react"
import { nearest } from "@/lib/columns"
import type { ChartLine } from "@/lib/lines"
import { seriesColor, seriesDash, type Scheme } from "./palette"
import classes from "./Legend.module.css"

interface LegendProps {
  lines: readonly ChartLine[]
  hidden: ReadonlySet<string>
  /** The x under the cursor, in the units of the server, or null: then the latest values stand here. */
  at: number | null
  formatX: (x: number) => string
  formatY: (y: number) => string
  onHide: (hidden: string[]) => void
  scheme: Scheme
}

/** Click a name to hide its line or show it again; with alt or shift, to see no other. */
export function Legend({ lines, hidden, at, formatX, formatY, onHide, scheme }: LegendProps) {
  const labels = lines.map(({ label }) => label)
  return (
    <div className={classes.legend}>
      {lines.map((line) => (
        <button
          key={line.label}
          type="button"
          className={classes.item}
          aria-pressed={!hidden.has(line.label)}
          onClick={(event) => onHide(chosen(event, line.label, labels, hidden))}
        >
          <Sample index={line.index} scheme={scheme} />
          <span>{line.label}</span>
          <span className={classes.value}>{formatY(valueAt(line, at) ?? NaN)}</span>
        </button>
      ))}
      <span className={classes.at}>{at === null ? "latest" : `at ${formatX(at)}`}</span>
    </div>
  )
}

/** The only part of a legend that stays as it is when values come. */
const Sample = memo(function Sample({ index, scheme }: { index: number; scheme: Scheme }) {
  return (
    <svg width="22" height="8" aria-hidden>
      <line x1="0" y1="4" x2="22" y2="4" stroke={seriesColor(index, scheme)} strokeWidth="2.5" strokeDasharray={seriesDash(index).join(" ")} />
    </svg>
  )
})

function chosen({ altKey, shiftKey }: MouseEvent, label: string, labels: readonly string[], hidden: ReadonlySet<string>): string[] {
  const others = [...hidden].filter((name) => !labels.includes(name))
  const here = labels.filter((name) => hidden.has(name))
  if (!altKey && !shiftKey) return [...others, ...(hidden.has(label) ? here.filter((name) => name !== label) : [...here, label])]
  const alone = !hidden.has(label) && here.length === labels.length - 1
  return alone ? others : [...others, ...labels.filter((name) => name !== label)]
}

function valueAt({ columns, means, latest }: ChartLine, at: number | null): number | null {
  return at === null ? latest : (means[nearest(columns.x, at)] ?? null)
}
