import type { Scheme } from "@/charts/palette"
import type { AxisView } from "@/lib/charts/axes"
import { shown } from "@/lib/charts/axes"
import type { Hovered } from "@/lib/charts/hover"
import type { Mark } from "@/lib/charts/marks"
import { sayValue, writeValue, type ValueUnit } from "@/lib/charts/scales/units"
import { formatCount } from "@/lib/format"
import { Sample } from "./Legend"
import classes from "./ChartTooltip.module.css"

/** Values of the lines at the pointer, and their place on the chart. */
export interface Pointed {
  hovered: readonly Hovered[]
  mark: Mark | null
  /** The pointer's place, as a share of the chart's width, and in CSS pixels from its top edge. */
  share: number
  top: number
}

interface ChartTooltipProps extends Pointed {
  view: AxisView
  unit: ValueUnit
  scheme: Scheme
  /** Each column is a bin of values, with the interval of its mean. */
  binned: boolean
}

const IN_COLUMNS = ["lowest", "mean", "highest", "points"]
const IN_BINS = ["from", "mean", "to", "values"]
/** Most lines that the tooltip names. */
const ROWS = 12
/** A column further away than this is shown with its own place. */
const BESIDE_PX = 4
const BELOW_POINTER_PX = 16

/** The values at the pointer: one, or the lowest, the mean and the highest of the points that share a pixel column. */
export function ChartTooltip({ hovered, mark, share, top, view, unit, scheme, binned }: ChartTooltipProps) {
  const rows = hovered.slice(0, ROWS)
  const [first] = rows
  if (!first) return null
  const several = rows.some(({ column: { low, high, count } }) => count > 1 || low < high)
  const smoothed = rows.some(({ column, drawn }) => drawn !== column.mean && !Number.isNaN(drawn))
  const across = `${100 * share}%` // of the chart, less as much of itself: so it never leaves the chart
  const at = (x: number) => view.exact(shown(x, view))
  return (
    <div className={classes.tooltip} style={{ left: across, top: top + BELOW_POINTER_PX, transform: `translateX(-${across})` }} role="tooltip">
      <table>
        <thead>
          <tr>
            <th className={classes.x}>
              {view.label} {at(first.column.x)}
            </th>
            {several ? (binned ? IN_BINS : IN_COLUMNS).map((head) => <th key={head}>{head}</th>) : <th />}
            {smoothed && <th>smoothed</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ line, column, drawn, away }) => (
            <tr key={line.label}>
              <td>
                <Sample index={line.index} scheme={scheme} /> {line.label}
                {away > BESIDE_PX && column.x !== first.column.x && <span className={classes.beside}> at {at(column.x)}</span>}
              </td>
              {several && <td>{writeValue(column.low, unit)}</td>}
              <td className={classes.mean}>{sayValue(column.mean, unit)}</td>
              {several && <td>{writeValue(column.high, unit)}</td>}
              {several && <td>{line.spread && !binned ? "" : formatCount(column.count)}</td>}
              {smoothed && <td>{writeValue(drawn, unit)}</td>}
              {column.odd > 0 && <td className={classes.odd}>{column.odd === column.count ? "not finite" : `${column.odd} not finite`}</td>}
            </tr>
          ))}
        </tbody>
      </table>
      {mark && <div className={classes.mark}>{mark.text}</div>}
      {rows.length < hovered.length && <div className={classes.beside}>and {hovered.length - rows.length} more lines</div>}
    </div>
  )
}
