import { SegmentedControl, Table } from "@mantine/core"
import { useMemo, useState } from "react"
import { Histogram } from "@/charts/Histogram"
import type { Distribution } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useRestingRange } from "@/hooks/charts/useBoard"
import { useChartSettings } from "@/hooks/charts/useChartSettings"
import { useLiveDistribution } from "@/hooks/charts/useLiveDistribution"
import { useNothing } from "@/hooks/job/useNothing"
import { binName, histogram, type Histogram as Counted } from "@/lib/charts/histogram"
import { lineLabels, paletteIndex } from "@/lib/charts/lines"
import { formatCount, formatPercent } from "@/lib/format"
import { emptyOf, MEASURES, type Measure } from "@/lib/staleness/stale"
import classes from "./DistributionPanel.module.css"

const HEIGHT = 200
const SHOWN = [{ value: "bars", label: "Bars" }, { value: "table", label: "Table" }]
const SCALES = [{ value: "linear", label: "Linear" }, { value: "log", label: "Logarithmic" }]

/** How many pushes were how stale, in the visible range. */
export function DistributionPanel() {
  const [settings] = useChartSettings()
  const measure: Measure = MEASURES[settings.measure]
  const { data, ...asked } = useLiveDistribution(measure.metric)
  const range = useRestingRange()
  const nothing = useNothing()
  const [shown, show] = useState("bars")
  const [scale, setScale] = useState("linear")
  return (
    <Panel
      wide
      title={`Distribution of ${measure.name}`}
      subtitle={`Staleness of ${data?.count ? formatCount(data.count) : "all"} pushes when they were applied${settings.measure === "distance" ? `: ${measure.about}` : ""}${range ? ", in the visible range" : ""}`}
      actions={
        <>
          {shown === "bars" && <SegmentedControl size="xs" aria-label="Scale of the counts" data={SCALES} value={scale} onChange={setScale} />}
          <SegmentedControl size="xs" aria-label="View of the distribution" data={SHOWN} value={shown} onChange={show} />
        </>
      }
    >
      <Loaded {...asked} isEmpty={data?.count === 0} empty={range ? "No push has been applied in the visible range." : emptyOf(measure, nothing)} height={230}>
        {data && <Counts distribution={data} measure={measure} inNumbers={shown === "table"} log={scale === "log"} />}
      </Loaded>
    </Panel>
  )
}

function Counts({ distribution, measure, inNumbers, log }: { distribution: Distribution; measure: Measure; inNumbers: boolean; log: boolean }) {
  const series = useMemo(() => distribution.series.filter(({ count }) => count > 0), [distribution])
  const counts = useMemo(() => histogram({ ...distribution, series }), [distribution, series])
  const labels = lineLabels(series)
  const { name, unit } = measure
  const format = unit ? undefined : measure.format
  const reaches = unit ? `${(counts.bins.at(-1) ?? 0) + counts.width - 1} ${unit}` : measure.format((counts.bins.at(-1) ?? 0) + counts.width)
  return (
    <div className={classes.beside}>
      {inNumbers ? (
        <Bins {...counts} labels={labels} name={name} head={unit ? "Updates" : "Values"} format={format} />
      ) : (
        <Histogram
          {...counts}
          groups={labels.map((label, position) => ({ label, index: paletteIndex(series, position) }))}
          counted="Pushes"
          unit={unit}
          log={log}
          format={format}
          label={`Distribution of ${name} from ${format?.(counts.bins[0]!) ?? counts.bins[0]} to ${reaches}`}
          height={HEIGHT}
        />
      )}
      <Quantiles measure={measure} rows={[{ label: "all", ...distribution }, ...series.map((one, position) => ({ label: labels[position]!, ...one }))]} />
    </div>
  )
}

interface BinsProps extends Counted {
  labels: readonly string[]
  name: string
  head: string
  format: ((value: number) => string) | undefined
}

/** The values of the bars, a row for each. */
function Bins({ bins, width, counts, labels, name, head, format }: BinsProps) {
  const totals = bins.map((_, bin) => counts.reduce((sum, row) => sum + row[bin]!, 0))
  const all = totals.reduce((sum, total) => sum + total, 0)
  return (
    <Table.ScrollContainer minWidth={160 + 84 * labels.length} mah={HEIGHT + 40} type="native" role="region" tabIndex={0} aria-label={`Distribution of ${name} in numbers`}>
      <Table verticalSpacing={2} stickyHeader>
        <TableHead titles={[head, "Share", "All", ...labels]} />
        <Table.Tbody className="numbers">
          {bins.map((low, bin) => (
            <Table.Tr key={low}>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{binName(low, width, format)}</Table.Td>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{formatPercent(totals[bin]! / all)}</Table.Td>
              {[totals[bin]!, ...counts.map((row) => row[bin]!)].map((count, index) => (
                <Table.Td key={index}>{formatCount(count)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Quantiles({ measure, rows }: { measure: Measure; rows: readonly (Pick<Distribution, "p50" | "p90" | "p99" | "count"> & { label: string })[] }) {
  return (
    <Table.ScrollContainer minWidth={300} mah={HEIGHT + 60} type="native" role="region" tabIndex={0} aria-label={`Quantiles of ${measure.name}`}>
      <Table verticalSpacing={2}>
        <TableHead titles={["Worker", "p50", "p90", "p99", "Pushes"]} />
        <Table.Tbody className="numbers">
          {rows.map(({ label, p50, p90, p99, count }, position) => (
            <Table.Tr key={position}>
              <Table.Td>{label}</Table.Td>
              {[p50, p90, p99].map((value, index) => (
                <Table.Td key={index}>{measure.format(value)}</Table.Td>
              ))}
              <Table.Td>{formatCount(count)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
