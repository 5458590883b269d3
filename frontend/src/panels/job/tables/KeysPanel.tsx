import { Table } from "@mantine/core"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useNothing } from "@/hooks/job/useNothing"
import type { useTableShards } from "@/hooks/job/tables/useTableShards"
import { formatCount, formatPercent } from "@/lib/format"
import { KEY_OUTCOMES } from "@/lib/job/tables"

const HEADS = ["Server", "Pushed", "= Applied", "+ Counted", "+ Missed", "+ Dropped", "Share applied"]
const MEANINGS = KEY_OUTCOMES.map(({ name, meaning }) => `${name}: ${meaning}`).join(" · ")

/** Outcomes of the keys that pushes brought. */
export function KeysPanel({ chart, shards }: ReturnType<typeof useTableShards>) {
  const nothing = useNothing()
  return (
    <Panel wide flush title="Keys of pushes" subtitle={MEANINGS}>
      <Loaded {...chart} isEmpty={shards.length === 0} empty={nothing("No key has been pushed")}>
        <Table.ScrollContainer minWidth={560} type="native" role="region" tabIndex={0} aria-label="Keys of pushes of each server">
          <Table verticalSpacing={6}>
            <TableHead titles={HEADS} />
            <Table.Tbody className="numbers">
              {shards.map((shard) => (
                <Table.Tr key={shard.server}>
                  <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
                    {shard.server}
                  </Table.Td>
                  <Table.Td>{formatCount(shard.pushed)}</Table.Td>
                  {KEY_OUTCOMES.map(({ name }) => (
                    <Table.Td key={name}>{formatCount(shard[name])}</Table.Td>
                  ))}
                  <Table.Td>{formatPercent(shard.pushed > 0 ? shard.applied / shard.pushed : null)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}
