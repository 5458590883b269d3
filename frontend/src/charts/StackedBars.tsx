import { Tooltip, useComputedColorScheme } from "@mantine/core"
import { formatDuration, formatPercent } from "@/lib/format"
import { quietLook, seriesColor, type QuietLook } from "./palette"
import classes from "./StackedBars.module.css"

interface Slice {
  name: string
  meaning: string
  seconds: number
  share: number
}

interface StackedBarsProps {
  bars: readonly { label: string; slices: readonly Slice[] }[]
  /** Names of slices in the order of their colours. */
  order: readonly string[]
  /** Looks of slices that are no work, by their names. */
  quiet: Readonly<Partial<Record<string, QuietLook>>>
}

/** Shares of a whole, a row for each subject; a legend names the colours, and a table of the same numbers is read to those who cannot see them. */
export function StackedBars({ bars, order, quiet }: StackedBarsProps) {
  const scheme = useComputedColorScheme("light")
  const color = (name: string) => (quiet[name] ? quietLook(quiet[name], scheme) : seriesColor(order.indexOf(name), scheme))
  const names = [...order, ...Object.keys(quiet)].filter((name) => bars.some(({ slices }) => slices.some((slice) => slice.name === name)))
  return (
    <>
      <ul className={classes.key} aria-hidden>
        {names.map((name) => (
          <li key={name}>
            <span className={classes.swatch} style={{ background: color(name) }} /> {name}
          </li>
        ))}
      </ul>
      <ul className={classes.bars}>
        {bars.map(({ label, slices }) => (
          <li key={label} className={classes.row}>
            <span className={classes.label}>{label}</span>
            <div className={classes.bar} role="img" aria-label={`${label}: ${inWords(slices)}`}>
              {slices.map((slice) => (
                <Tooltip key={slice.name} label={`${slice.name} ${formatPercent(slice.share, 1)}: ${slice.meaning}`}>
                  <span className={classes.slice} style={{ width: `${slice.share * 100}%`, background: color(slice.name) }} />
                </Tooltip>
              ))}
            </div>
            <span className={classes.share}>{formatPercent(slices[0]?.share, 0)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

function inWords(slices: readonly Slice[]): string {
  return slices
    .filter(({ share }) => share >= 0.005)
    .map(({ name, share, seconds }) => `${name} ${formatPercent(share, 0)}, ${formatDuration(seconds)}`)
    .join("; ")
}
