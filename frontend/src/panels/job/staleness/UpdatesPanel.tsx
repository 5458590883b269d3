import { SegmentedControl, Select, Table } from "@mantine/core"
import { useMemo, useState } from "react"
import { DistributionMap } from "@/charts/DistributionMap"
import type { UpdateGroup, UpdateHistograms } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useUpdates } from "@/hooks/job/useUpdates"
import { counted, formatCount, formatNumber, formatPercent } from "@/lib/format"
import { decades, groupName, groupTick, magnitudeAt, magnitudeMap, type GroupedBy } from "@/lib/staleness/updates"
import { NormBands } from "./NormBands"
import classes from "./UpdatesPanel.module.css"

const ALL = "all"
const WHAT = [{ value: "update", label: "Updates" }, { value: "gradient", label: "Gradients" }] as const
const SHOWN = [{ value: "map", label: "Map" }, { value: "table", label: "Table" }]
const HOW_TO = "This job measures no gradients and updates. Set update_histograms: {every: 100} in the job file of the next one."
const ABOUT = {
  update: "Vectors that workers pushed",
  gradient: "Gradients of the first mini-batch of each round",
}

/** How large the elements of each layer's updates are, by the staleness of the push; in jobs without staleness, over the training. */
export function UpdatesPanel({ by }: { by: GroupedBy }) {
  const job = useFeed((feed) => feed.job)
  const [what, setWhat] = useState<UpdateHistograms["what"]>("update")
  const [layer, setLayer] = useState(ALL)
  const [rank, setRank] = useState(ALL)
  const [shown, show] = useState("map")
  const nothing = useNothing()
  const { data, ...asked } = useUpdates(job, { what, layer: layer === ALL ? null : layer, rank: rank === ALL ? null : Number(rank), by })
  if (!job.spec.update_histograms) return <Panel wide title="Updates by layer" subtitle="Magnitudes and norms of gradients and updates, against the staleness of their push">{HOW_TO}</Panel>
  return (
    <Panel
      wide
      title="Updates by layer"
      subtitle={`${ABOUT[what]}, by ${by === "staleness" ? "the staleness of the push" : "progress"}. ${data ? sampledText(data) : ""}`}
      actions={
        <>
          <SegmentedControl size="xs" aria-label="Vectors" data={[...WHAT]} value={what} onChange={setWhat} />
          <Choice label="Layer" all="all layers" values={data?.layers.map(({ name }) => ({ value: name, label: name })) ?? []} value={layer} onChange={setLayer} width={190} />
          <Choice label="Worker" all="all workers" values={data?.ranks.map((each) => ({ value: String(each), label: `worker ${each}` })) ?? []} value={rank} onChange={setRank} width={130} />
          <SegmentedControl size="xs" aria-label="View of the updates" data={SHOWN} value={shown} onChange={show} />
        </>
      }
    >
      <Loaded {...asked} isEmpty={data?.groups.length === 0} empty={data?.count ? "Workers noted no gradient in these samples." : nothing("No push has been measured")} height={260}>
        {data && (shown === "table" ? <Numbers groups={data.groups} by={by} /> : <Pictures groups={data.groups} by={by} />)}
      </Loaded>
    </Panel>
  )
}

/** How many pushes were measured, and which limits left some out. */
function sampledText({ every, used, count, lost, full }: UpdateHistograms): string {
  const some = used < count ? `${formatCount(used)} of ${counted(count, "sample")}` : counted(count, "sample")
  const left = lost ? `; limits dropped ${formatCount(lost)}` : ""
  return `${some}${every === 1 ? "" : `, one push in ${formatCount(every)}`}${left}${full ? "; the job may store no more" : ""}.`
}

interface ChoiceProps {
  label: string
  all: string
  values: readonly { value: string; label: string }[]
  value: string
  onChange: (value: string) => void
  width: number
}

function Choice({ label, all, values, value, onChange, width }: ChoiceProps) {
  if (values.length < 2) return null
  const data = [{ value: ALL, label: all }, ...values]
  return <Select size="xs" w={width} aria-label={label} data={data} value={value} onChange={(next) => onChange(next ?? ALL)} allowDeselect={false} searchable={values.length > 12} />
}

function Pictures({ groups, by }: { groups: readonly UpdateGroup[]; by: GroupedBy }) {
  const map = useMemo(() => magnitudeMap(groups), [groups])
  const against = by === "staleness" ? "staleness" : "samples"
  return (
    <div className={classes.beside}>
      <div>
        <h3>Magnitude of elements against {against}</h3>
        {map ? (
          <DistributionMap
            map={map}
            label={`Magnitude of elements against ${against}, from ${formatNumber(magnitudeAt(map.low))} to ${formatNumber(magnitudeAt(map.high))}`}
            columns={groups.map((group) => ({ key: group.low, tick: groupTick(group, by), says: `${groupName(group, by)}, ${counted(group.count, "push", "pushes")}, median ${formatNumber(group.median)}` }))}
            axis={by === "staleness" ? "Staleness" : "Samples"}
            format={(bin) => formatNumber(magnitudeAt(bin))}
            ticks={decades(map)}
          />
        ) : (
          <p>No element is finite and other than zero.</p>
        )}
      </div>
      <div>
        <h3>Norm against {against}: median, 10 to 90 %</h3>
        <NormBands groups={groups} by={by} title={`Norm against ${against}`} />
      </div>
    </div>
  )
}

/** Counts, medians and norms of each group. */
function Numbers({ groups, by }: { groups: readonly UpdateGroup[]; by: GroupedBy }) {
  return (
    <Table.ScrollContainer minWidth={640} mah={320} type="native" role="region" tabIndex={0} aria-label="Updates in numbers">
      <Table verticalSpacing={3} stickyHeader>
        <TableHead titles={[by === "staleness" ? "Staleness" : "Samples", "Pushes", "Dropped", "Median", "Norm 10 %", "Norm 50 %", "Norm 90 %", "Zeros", "Not finite"]} />
        <Table.Tbody className="numbers">
          {groups.map((group) => (
            <Table.Tr key={group.low}>
              <Table.Td>{groupTick(group, by)}</Table.Td>
              <Table.Td>{formatCount(group.count)}</Table.Td>
              <Table.Td>{formatCount(group.dropped)}</Table.Td>
              {[group.median, group.norm.p10, group.norm.p50, group.norm.p90].map((value, place) => (
                <Table.Td key={place}>{formatNumber(value)}</Table.Td>
              ))}
              <Table.Td>{formatPercent(group.zeros / group.elements)}</Table.Td>
              <Table.Td>{formatCount(group.not_finite)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
