import { memo, useState, type MouseEvent } from "react"
import { MarksKey } from "@/charts/MarksKey"
import { seriesColor, seriesDash, type Scheme } from "@/charts/palette"
import type { Range } from "@/lib/charts/axes"
import { nearest } from "@/lib/charts/columns"
import { lastOf, type ChartLine } from "@/lib/charts/lines"
import type { Mark } from "@/lib/charts/marks"
import { formatCount, NONE } from "@/lib/format"
import classes from "./Legend.module.css"

/** From the labels that are hidden by then to those that are to be. */
export type NextHidden = (now: readonly string[]) => string[]

interface LegendProps {
  lines: readonly ChartLine[]
  marks?: readonly Mark[]
  hidden: ReadonlySet<string>
  /** The x under the cursor, in the units of the server, or null: then the latest values stand here. */
  at: number | null
  /** Visible range; null: all. */
  range: Range | null
  /** Columns are bins of values, of which none is the latest: then their number stands here. */
  binned: boolean
  /** More than a few lines are folded until a click. */
  compact?: boolean
  formatX: (x: number) => string
  formatY: (y: number) => string
  onHide: (next: NextHidden) => void
  scheme: Scheme
}

/** Lines that a small card names without a click. */
const FEW = 3

/** Click a name to hide its line or show it again; with alt or shift, to see no other. */
export function Legend({ lines, marks = [], hidden, at, range, binned, compact = false, formatX, formatY, onHide, scheme }: LegendProps) {
  const [unfolded, setUnfolded] = useState(false)
  const foldable = compact && lines.length > FEW
  const labels = lines.map(({ label }) => label)
  const values = lines.map((line) => (binned && at === null ? formatCount(line.total) : told(valueAt(line, at, range), formatY)))
  return (
    <div className={classes.legend} data-compact={compact || undefined}>
      {foldable && (
        <button type="button" className={classes.item} aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
          {unfolded ? "Fold the lines" : `${lines.length} lines`}
          {!unfolded && labels.some((label) => hidden.has(label)) && `, ${labels.filter((label) => hidden.has(label)).length} hidden`}
        </button>
      )}
      {(!foldable || unfolded) && lines.map((line, index) => (
        <button
          key={line.label}
          type="button"
          className={classes.item}
          aria-pressed={!hidden.has(line.label)}
          onClick={(event) => onHide((now) => chosen(event, line.label, labels, now))}
        >
          <Sample index={line.index} scheme={scheme} />
          <span>{line.label}</span>
          <span className={classes.value}>{values[index]}</span>
          {line.odd > 0 && <span className={classes.odd}>{formatCount(line.odd)} not finite</span>}
        </button>
      ))}
      <MarksKey marks={marks} />
      <span className={classes.at}>{at === null ? (binned ? "values" : range ? "last in this range" : "latest") : `mean at ${formatX(xOf(lines, hidden, at))}`}</span>
    </div>
  )
}

/** The only part of a legend that stays as it is when values come. */
export const Sample = memo(function Sample({ index, scheme }: { index: number; scheme: Scheme }) {
  return (
    <svg width="22" height="8" aria-hidden>
      <line x1="0" y1="4" x2="22" y2="4" stroke={seriesColor(index, scheme)} strokeWidth="2.5" strokeDasharray={seriesDash(index).join(" ")} />
    </svg>
  )
})

function chosen({ altKey, shiftKey }: MouseEvent, label: string, labels: readonly string[], now: readonly string[]): string[] {
  const hidden = new Set(now)
  const others = now.filter((name) => !labels.includes(name))
  const here = labels.filter((name) => hidden.has(name))
  if (!altKey && !shiftKey) return [...others, ...(hidden.has(label) ? here.filter((name) => name !== label) : [...here, label])]
  const alone = !hidden.has(label) && here.length === labels.length - 1
  return alone ? others : [...others, ...labels.filter((name) => name !== label)]
}

/** Null: there is no value. */
function valueAt(line: ChartLine, at: number | null, range: Range | null): number | null {
  return at === null ? lastOf(line, range) : (line.means[nearest(line.columns.x, at)] ?? null)
}

function told(value: number | null, format: (y: number) => string): string {
  return value === null ? NONE : format(value)
}

/** The place of the point nearest to `at`. */
function xOf(lines: readonly ChartLine[], hidden: ReadonlySet<string>, at: number): number {
  const found = lines.filter(({ label }) => !hidden.has(label)).map(({ columns: { x } }) => x[nearest(x, at)] ?? Infinity)
  const closest = found.reduce((best, x) => (Math.abs(x - at) < Math.abs(best - at) ? x : best), Infinity)
  return Number.isFinite(closest) ? closest : at
}
