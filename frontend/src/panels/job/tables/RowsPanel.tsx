import { Table } from "@mantine/core"
import { AddsUp } from "@/components/display/AddsUp"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useNothing } from "@/hooks/job/useNothing"
import type { useTableShards } from "@/hooks/job/tables/useTableShards"
import { formatBytes, formatCount, formatPercent } from "@/lib/format"
import { rowBalance, type TableShard } from "@/lib/job/tables"

const HEADS = ["Server", "Made", "= Rows", "+ Evicted", "Adds up", "Candidates", "Candidates evicted", "Memory", "Share of memory"]

/** Where every row went, and how evenly the servers share them. */
export function RowsPanel({ chart, shards }: ReturnType<typeof useTableShards>) {
  const nothing = useNothing()
  const balance = rowBalance(shards)
  const even = balance === null ? "" : ` Balance ${formatPercent(balance, 0)}: mean rows of a server, relative to the most.`
  return (
    <Panel wide flush title="Rows" subtitle={`A row is made by its first push, or when its key is admitted, and evicted by a shrink.${even}`}>
      <Loaded {...chart} isEmpty={shards.length === 0} empty={nothing("No server has told its rows")}>
        <Table.ScrollContainer minWidth={720} type="native" role="region" tabIndex={0} aria-label="Rows of each server">
          <Table verticalSpacing={6}>
            <TableHead titles={HEADS} />
            <Table.Tbody className="numbers">
              {shards.map((shard) => (
                <Row key={shard.server} shard={shard} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ shard: { server, made, rows, evicted, missing, candidates, evicted_candidates, bytes, share } }: { shard: TableShard }) {
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
        {server}
      </Table.Td>
      {[made, rows, evicted].map((count, place) => (
        <Table.Td key={place}>{formatCount(count)}</Table.Td>
      ))}
      <Table.Td><AddsUp missing={missing} /></Table.Td>
      <Table.Td>{formatCount(candidates)}</Table.Td>
      <Table.Td>{formatCount(evicted_candidates)}</Table.Td>
      <Table.Td style={{ whiteSpace: "nowrap" }}>{formatBytes(bytes)}</Table.Td>
      <Table.Td>{formatPercent(share)}</Table.Td>
    </Table.Tr>
  )
}
