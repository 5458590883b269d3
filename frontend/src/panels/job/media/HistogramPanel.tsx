import { SegmentedControl, Table } from "@mantine/core"
import { useMemo, useState } from "react"
import { DistributionMap } from "@/charts/DistributionMap"
import type { MediaName, StoredHistogram } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useHistograms } from "@/hooks/job/media/useMedia"
import { counted, formatCount, formatNumber } from "@/lib/format"
import { binned, mediaSourceInText, placeOf, sourcesOf } from "@/lib/media/media"
import { SourceSelect } from "./SourceSelect"

const BINS = 40
const SHOWN = [{ value: "map", label: "Map" }, { value: "table", label: "Table" }]

/** How a distribution has changed: a column for each logged histogram, darker where more values lie. */
export function HistogramPanel({ jobId, media }: { jobId: string; media: MediaName }) {
  const ranks = sourcesOf(media)
  const [rank, setRank] = useState(ranks[0]!)
  const [shown, show] = useState("map")
  const { data, ...asked } = useHistograms(jobId, media, rank)
  const items = useMemo(() => data?.items ?? [], [data])
  const map = useMemo(() => binned(items, BINS), [items])
  const some = data && data.count > items.length ? `${formatCount(items.length)} of ` : ""
  return (
    <Panel
      title={media.name}
      subtitle={`${some}${counted(data?.count ?? 0, "histogram")} of ${mediaSourceInText(rank)}`}
      actions={
        <>
          <SourceSelect name={media.name} ranks={ranks} rank={rank} onSelect={setRank} />
          <SegmentedControl size="xs" aria-label={`View of ${media.name}`} data={SHOWN} value={shown} onChange={show} />
        </>
      }
    >
      <Loaded {...asked} isEmpty={map === null && shown === "map"} empty="No logged value is finite." height={230}>
        {shown === "table" ? (
          <Numbers items={items} name={media.name} />
        ) : (
          map && (
            <DistributionMap
              map={map}
              label={`Distribution of ${media.name} over ${counted(items.length, "histogram")}, from ${formatNumber(map.low)} to ${formatNumber(map.high)}`}
              columns={items.map((item) => ({ key: item.seq, tick: formatCount(item.rank < 0 ? item.version : item.step), says: placeOf(item) }))}
              axis={rank < 0 ? "Version" : "Step"}
              format={formatNumber}
            />
          )
        )}
      </Loaded>
    </Panel>
  )
}

/** Range, count and median of each histogram. */
function Numbers({ items, name }: { items: readonly StoredHistogram[]; name: string }) {
  return (
    <Table.ScrollContainer minWidth={420} mah={320} type="native" role="region" tabIndex={0} aria-label={`${name} in numbers`}>
      <Table verticalSpacing={3} stickyHeader>
        <TableHead titles={["Step", "Samples", "Least", "Median", "Greatest", "Values", "Not finite"]} />
        <Table.Tbody className="numbers">
          {items.map((item) => (
            <Table.Tr key={item.seq}>
              <Table.Td>{formatCount(item.step)}</Table.Td>
              <Table.Td>{formatCount(item.samples)}</Table.Td>
              {[item.edges[0], medianOf(item), item.edges.at(-1)].map((value, place) => (
                <Table.Td key={place}>{formatNumber(value)}</Table.Td>
              ))}
              <Table.Td>{formatCount(item.counts.reduce((sum, count) => sum + count, 0))}</Table.Td>
              <Table.Td>{formatCount(item.nan + item.inf)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

/** As if the values of a bin were spread evenly in it. */
function medianOf({ edges, counts }: StoredHistogram): number | undefined {
  let left = counts.reduce((sum, count) => sum + count, 0) / 2
  for (const [bin, count] of counts.entries()) {
    if (left <= count) return edges[bin]! + ((edges[bin + 1]! - edges[bin]!) * left) / Math.max(count, 1)
    left -= count
  }
  return undefined
}
