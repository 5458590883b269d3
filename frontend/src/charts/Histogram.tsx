import { Tooltip, useComputedColorScheme } from "@mantine/core"
import { barShare, binLabel, binName, countTicks, type Histogram as Counts } from "@/lib/charts/histogram"
import { formatCount, formatNumber } from "@/lib/format"
import { seriesColor } from "./palette"
import classes from "./Histogram.module.css"

interface HistogramProps extends Counts {
  groups: readonly { label: string; index: number }[]
  /** Name of the counts' axis. */
  counted: string
  unit: string
  /** Writes values that are measured; whole numbers, which are counted, need none. */
  format?: ((value: number) => string) | undefined
  /** Counts on a logarithmic scale: bars of all groups together, as parts of them would have no meaning. */
  log: boolean
  label: string
  height?: number
}

/** Bins that have a label. */
const LABELS = 12
const ALL = [{ label: "all", index: -1 }]

/** Counts per bin, one colour per group, stacked. */
export function Histogram({ bins, width, counts, groups, counted, unit, format, log, label, height = 200 }: HistogramProps) {
  const scheme = useComputedColorScheme("light")
  const totals = bins.map((_, bin) => counts.reduce((sum, row) => sum + row[bin]!, 0))
  const all = totals.reduce((sum, total) => sum + total, 0)
  const ticks = countTicks(Math.max(1, ...totals), log)
  const top = ticks.at(-1)!
  const every = Math.ceil(bins.length / LABELS)
  const [drawn, shown] = log ? [[totals], ALL] : [counts, groups]
  return (
    <div>
      <div className={classes.plot} style={{ height }}>
        <span className={classes.title} aria-hidden>
          {counted}
        </span>
        {ticks.map((tick) => (
          <div key={tick} className={classes.tick} style={{ bottom: `${100 * barShare(tick, top, log)}%` }} aria-hidden>
            <span>{formatNumber(tick)}</span>
          </div>
        ))}
        <div className={classes.bars} role="img" aria-label={label}>
          {bins.map((low, bin) => (
            <Tooltip key={low} label={`${[binName(low, width, format), unit].join(" ").trim()}: ${formatCount(totals[bin])} (${((100 * totals[bin]!) / all).toFixed(1)} %)`}>
              <div className={classes.bin}>
                {shown.map((group, row) => (
                  <div key={group.label} className={classes.part} style={{ height: `${100 * barShare(drawn[row]![bin]!, top, log)}%`, background: seriesColor(group.index, scheme) }} />
                ))}
              </div>
            </Tooltip>
          ))}
        </div>
      </div>
      <div className={classes.axis} aria-hidden>
        {bins.map((low, bin) => (
          <span key={low}>{bin % every === 0 ? binLabel(low, width, format) : ""}</span>
        ))}
      </div>
      <div className={classes.unit} aria-hidden>
        {unit}
      </div>
      {!log && (
        <div className={classes.legend}>
          {groups.map((group) => (
            <span key={group.label}>
              <i style={{ background: seriesColor(group.index, scheme) }} aria-hidden />
              {group.label}
            </span>
          ))}
        </div>
      )}
    </div>
  )
}
