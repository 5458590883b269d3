import { Table } from "@mantine/core"
import { AddsUp } from "@/components/display/AddsUp"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useNothing } from "@/hooks/job/useNothing"
import type { useTableShards } from "@/hooks/job/tables/useTableShards"
import { formatBytes, formatCount, formatPercent } from "@/lib/format"
import { rowBalance, type TableShard } from "@/lib/job/tables"

/** Column titles, if all rows are in memory or some may be on disk. */
function headsOf(isBounded: boolean) {
  const alive = isBounded ? ["= In memory", "+ Cold"] : ["= Rows"]
  return ["Server", "Made", ...alive, "+ Evicted", "Adds up", "Candidates", "Candidates evicted", "Memory", "Share of memory", ...(isBounded ? ["Disk"] : [])]
}

/** Where every row went, and how evenly the servers share them. */
export function RowsPanel({ chart, shards }: ReturnType<typeof useTableShards>) {
  const nothing = useNothing()
  const balance = rowBalance(shards)
  const isBounded = shards.some((shard) => shard.isBounded)
  const cold = isBounded ? " The vectors of cold rows lie on the disk." : ""
  const even = balance === null ? "" : ` Balance ${formatPercent(balance, 0)}: mean rows of a server, relative to the most.`
  return (
    <Panel wide flush title="Rows" subtitle={`A row is made by its first push, or when its key is admitted, and evicted by a shrink.${cold}${even}`}>
      <Loaded {...chart} isEmpty={shards.length === 0} empty={nothing("No server has told its rows")}>
        <Table.ScrollContainer minWidth={720} type="native" role="region" tabIndex={0} aria-label="Rows of each server">
          <Table verticalSpacing={6}>
            <TableHead titles={headsOf(isBounded)} />
            <Table.Tbody className="numbers">
              {shards.map((shard) => (
                <Row key={shard.server} shard={shard} isBounded={isBounded} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ shard, isBounded }: { shard: TableShard; isBounded: boolean }) {
  const { server, made, rows, inMemory, cold, evicted, missing, candidates, evicted_candidates, bytes, share, disk } = shard
  const alive = isBounded ? [inMemory, cold] : [rows]
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
        {server}
      </Table.Td>
      {[made, ...alive, evicted].map((count, place) => (
        <Table.Td key={place}>{formatCount(count)}</Table.Td>
      ))}
      <Table.Td><AddsUp missing={missing} /></Table.Td>
      <Table.Td>{formatCount(candidates)}</Table.Td>
      <Table.Td>{formatCount(evicted_candidates)}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>{formatBytes(bytes)}</Table.Td>
      <Table.Td>{formatPercent(share)}</Table.Td>
      {isBounded && <Table.Td style={{ whiteSpace: "nowrap" }}>{formatBytes(disk)}</Table.Td>}
    </Table.Tr>
  )
}
