import "uplot/dist/uPlot.min.css"
import { useComputedColorScheme } from "@mantine/core"
import { useMemo, useState } from "react"
import { align } from "@/lib/align"
import { Legend } from "./Legend"
import { chartOptions, type LineShape } from "./options"
import type { ChartLine, Threshold } from "@/lib/lines"
import { usePlot } from "./usePlot"
import classes from "./LineChart.module.css"

interface LineChartProps {
  lines: readonly ChartLine[]
  /** What is drawn, in words, for those who cannot see it. */
  label: string
  log?: boolean
  formatX: (x: number) => string
  formatY: (y: number) => string
  threshold?: Threshold | null
  /** Charts with the same key share cursor and zoom. */
  syncKey: string
  height?: number
}

/** Lines over one axis. Drag zooms, double click shows everything again; names in the legend hide and show their lines. */
export function LineChart({ lines, label, log = false, formatX, formatY, threshold = null, syncKey, height = 230 }: LineChartProps) {
  const scheme = useComputedColorScheme("light")
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [cursor, setCursor] = useState<number | null>(null)
  const shown = lines.filter((line) => !hidden.has(line.label))
  const names = JSON.stringify(shown.map(({ label, index, raw }) => ({ label, index, raw: raw && [] })))
  const limit = JSON.stringify(threshold)

  const options = useMemo(
    () => chartOptions({ lines: JSON.parse(names) as LineShape[], log, scheme, formatX, syncKey, threshold: JSON.parse(limit) as Threshold | null, onCursor: setCursor }),
    [names, log, scheme, formatX, syncKey, limit],
  )
  const data = useMemo(() => {
    const visible = lines.filter((line) => !hidden.has(line.label))
    const drawn = [...visible.filter((line) => line.raw).map(({ xs, raw }) => ({ xs, ys: raw! })), ...visible]
    return align(log ? drawn.map(({ xs, ys }) => ({ xs, ys: ys.map((y) => (y > 0 ? y : NaN)) })) : drawn)
  }, [lines, hidden, log])
  const element = usePlot(options, data, height)

  const toggle = (name: string) => setHidden((before) => (before.has(name) ? new Set([...before].filter((n) => n !== name)) : new Set([...before, name])))
  const at = cursor === null ? null : (data[0][cursor] ?? null)
  return (
    <div>
      <div ref={element} className={classes.plot} role="img" aria-label={label} style={{ height }} />
      <Legend lines={lines} hidden={hidden} at={at} formatX={formatX} formatY={formatY} onToggle={toggle} scheme={scheme} />
    </div>
  )
}
