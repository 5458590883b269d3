import { Table } from "@mantine/core"
import { useMemo } from "react"
import type { Distribution } from "@/client"
import { Histogram } from "@/charts/Histogram"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useRestingRange } from "@/hooks/useBoard"
import { useLiveDistribution } from "@/hooks/useLiveDistribution"
import { formatCount, formatNumber } from "@/lib/format"
import { histogram } from "@/lib/histogram"
import { lineLabels, paletteIndex } from "@/lib/lines"

/** How many pushes were how stale, in the visible range. */
export function DistributionPanel() {
  const { data, ...asked } = useLiveDistribution("train/staleness")
  const range = useRestingRange()
  return (
    <Panel
      title="Distribution of staleness"
      subtitle={`How stale ${data ? formatCount(data.count) : "all"} pushes were when they were applied${range ? ", in the visible range" : ""}`}
    >
      <Loaded {...asked} isEmpty={data?.count === 0} empty="No push has been applied here." height={230}>
        {data && <Counts distribution={data} />}
      </Loaded>
    </Panel>
  )
}

function Counts({ distribution }: { distribution: Distribution }) {
  const series = useMemo(() => distribution.series.filter(({ count }) => count > 0), [distribution])
  const counts = useMemo(() => histogram({ ...distribution, series }), [distribution, series])
  const labels = lineLabels(series)
  return (
    <>
      <Histogram
        {...counts}
        groups={labels.map((label, position) => ({ label, index: paletteIndex(series, position) }))}
        unit="updates"
        label={`Distribution of staleness from ${counts.bins[0]} to ${(counts.bins.at(-1) ?? 0) + counts.width - 1} updates`}
        height={170}
      />
      <Quantiles rows={[{ label: "all", ...distribution }, ...series.map((one, position) => ({ label: labels[position]!, ...one }))]} />
    </>
  )
}

function Quantiles({ rows }: { rows: readonly (Pick<Distribution, "p50" | "p90" | "p99" | "count"> & { label: string })[] }) {
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
          {rows.map(({ label, p50, p90, p99, count }, position) => (
            <Table.Tr key={position}>
              <Table.Td>{label}</Table.Td>
              {[p50, p90, p99].map((value, index) => (
                <Table.Td key={index}>{formatNumber(value)}</Table.Td>
              ))}
              <Table.Td>{formatCount(count)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
