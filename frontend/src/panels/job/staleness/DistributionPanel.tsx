import { Table } from "@mantine/core"
import { useMemo } from "react"
import { Histogram } from "@/charts/Histogram"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useChart } from "@/hooks/useChart"
import { useRestingRange } from "@/hooks/useBoard"
import { useReading } from "@/hooks/useReading"
import { quantile, weigh, type Weighted } from "@/lib/distribution"
import { formatCount, formatNumber } from "@/lib/format"
import { histogram } from "@/lib/histogram"
import { lineLabels, paletteIndex } from "@/lib/lines"

/** More columns tell more values exactly. */
const COLUMNS = 1000
const QUANTILES = [0.5, 0.9, 0.99]

/** How many pushes were how stale, in the visible range. */
export function DistributionPanel() {
  const chart = useChart("train/staleness", COLUMNS)
  const lines = useReading(chart.data)
  const range = useRestingRange()
  const weighted = useMemo(() => lines.map(({ columns }) => weigh(columns, range)), [lines, range])
  const counts = useMemo(() => histogram(weighted), [weighted])
  const labels = lineLabels(lines)
  const [exact, count] = [total(weighted, "exact"), total(weighted, "count")]
  return (
    <Panel
      title="Distribution of staleness"
      subtitle={`How stale ${formatCount(count)} pushes were when they were applied${range ? ", in the visible range" : ""}${exact < count ? `; ${formatCount(count - exact)} of them count at the mean of their column` : ""}`}
    >
      <Loaded {...chart} isEmpty={counts.bins.length === 0} empty="No push has been applied here." height={230}>
        <Histogram
          {...counts}
          groups={labels.map((label, position) => ({ label, index: paletteIndex(lines, position) }))}
          unit="updates"
          label={`Distribution of staleness from ${counts.bins[0]} to ${(counts.bins.at(-1) ?? 0) + counts.width - 1} updates`}
          height={170}
        />
        <Quantiles labels={labels} weighted={weighted} />
      </Loaded>
    </Panel>
  )
}

function Quantiles({ labels, weighted }: { labels: readonly string[]; weighted: readonly Weighted[] }) {
  const rows = [{ label: "all", of: weighted }, ...labels.map((label, index) => ({ label, of: [weighted[index]!] }))]
  return (
    <Table.ScrollContainer minWidth={300} mah={210} mt="sm" type="native" role="region" tabIndex={0} aria-label="Quantiles of staleness">
      <Table verticalSpacing={2}>
        <Table.Thead>
          <Table.Tr>
            {["Worker", "p50", "p90", "p99", "Pushes"].map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">
          {rows.map(({ label, of }) => (
            <Table.Tr key={label}>
              <Table.Td>{label}</Table.Td>
              {QUANTILES.map((q) => (
                <Table.Td key={q}>{formatNumber(quantile(of, q))}</Table.Td>
              ))}
              <Table.Td>{formatCount(total(of, "count"))}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function total(weighted: readonly Weighted[], what: "exact" | "count"): number {
  return weighted.reduce((sum, one) => sum + one[what], 0)
}
