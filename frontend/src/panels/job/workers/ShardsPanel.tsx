import { Table } from "@mantine/core"
import type { ShardLoad } from "@/client"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { formatBytes, formatCount, formatMoments, formatPercent } from "@/lib/format"
import { balance, emptyShards } from "@/lib/job/exchange"
import { describeHolders, isServerless } from "@/lib/job/serverless"

const HEADS = ["Slice", "Busy on average", "Apply", "Longest queue"]

/** How the center is split, and how evenly its shards work. */
export function ShardsPanel() {
  const shards = useFeed((feed) => feed.job.progress.shards)
  const serverless = useFeed((feed) => isServerless(feed.job))
  const holders = useFeed((feed) => describeHolders(feed.job, "shard k is held by worker k"))
  const notes = useFeed((feed) => feed.job.notes)
  if (!shards || shards.length === 0) return null
  const even = balance(shards)
  const why = notes?.find(({ pointer }) => pointer === "/roles/server/count")
  const empty = emptyShards(shards)
  const subtitle = [
    serverless ? `${holders}.` : "",
    serverless ? "" : describeEmpty(empty.length, shards.length),
    even === null ? "" : `Balance ${formatPercent(even, 0)}: mean work of a shard, relative to the busiest.`,
    why ? `auto: ${why.message}` : "",
  ]
  return (
    <Panel title={<Term word="shard">Shards</Term>} subtitle={subtitle.filter(Boolean).join(" ") || "Slices of the center, in this attempt"} flush>
      <Table.ScrollContainer minWidth={340} mah={260} type="native" role="group" tabIndex={0} aria-label="Shards">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Shard</Table.Th>
              {HEADS.map((head) => (
                <Table.Th key={head} ta="right">
                  {head}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody className="numbers">
            {shards.map((shard) => (
              <Row key={shard.rank} shard={shard} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

/** As `describe_empty_shards` of the command line says it. */
function describeEmpty(empty: number, count: number): string {
  const enough = count - empty
  if (empty === 0 || enough === 0) return ""
  const servers = enough === 1 ? "1 server is" : `${enough} servers are`
  return `${servers} enough: the model is so small that ${empty} of ${count} shards ${empty === 1 ? "holds" : "hold"} nothing.`
}

function Row({ shard: { rank, slice_bytes, busy, apply, queue } }: { shard: ShardLoad }) {
  return (
    <Table.Tr>
      <Table.Td fw={550}>{rank}</Table.Td>
      {[formatBytes(slice_bytes), formatPercent(busy), formatMoments(apply), formatCount(queue)].map((said, index) => (
        <Table.Td key={HEADS[index]} ta="right" style={{ whiteSpace: "nowrap" }}>
          {said}
        </Table.Td>
      ))}
    </Table.Tr>
  )
}
