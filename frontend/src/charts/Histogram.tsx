import { Tooltip, useComputedColorScheme } from "@mantine/core"
import { binName, type Histogram as Counts } from "@/lib/charts/histogram"
import { seriesColor } from "./palette"
import classes from "./Histogram.module.css"

interface HistogramProps extends Counts {
  groups: readonly { label: string; index: number }[]
  unit: string
  /** Writes values that are measured; whole numbers, which are counted, need none. */
  format?: ((value: number) => string) | undefined
  label: string
  height?: number
}

/** Counts per bin, one colour per group, stacked. */
export function Histogram({ bins, width, counts, groups, unit, format, label, height = 200 }: HistogramProps) {
  const scheme = useComputedColorScheme("light")
  const totals = bins.map((_, bin) => counts.reduce((sum, row) => sum + row[bin]!, 0))
  const highest = Math.max(1, ...totals)
  const all = totals.reduce((sum, total) => sum + total, 0)
  const every = Math.ceil(bins.length / 12)
  return (
    <div>
      <div className={classes.bars} role="img" aria-label={label} style={{ height }}>
        {bins.map((low, bin) => (
          <Tooltip key={low} label={`${[binName(low, width, format), unit].join(" ").trim()}: ${totals[bin]} (${((100 * totals[bin]!) / all).toFixed(1)} %)`}>
            <div className={classes.bin}>
              {groups.map((group, row) => (
                <div
                  key={group.label}
                  className={classes.part}
                  style={{ height: `${(100 * counts[row]![bin]!) / highest}%`, background: seriesColor(group.index, scheme) }}
                />
              ))}
            </div>
          </Tooltip>
        ))}
      </div>
      <div className={classes.axis} aria-hidden>
        {bins.map((low, bin) => (
          <span key={low}>{bin % every === 0 ? (format?.(low) ?? low) : ""}</span>
        ))}
      </div>
      <div className={classes.legend}>
        {groups.map((group) => (
          <span key={group.label}>
            <i style={{ background: seriesColor(group.index, scheme) }} aria-hidden />
            {group.label}
          </span>
        ))}
      </div>
    </div>
  )
}
