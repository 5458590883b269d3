import { Anchor, Table, Text } from "@mantine/core"
import { IconServerOff } from "@tabler/icons-react"
import { Link } from "react-router"
import type { Holder } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useNodes } from "@/hooks/platform/useNodes"
import { useQueue } from "@/hooks/platform/useQueue"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatNumber } from "@/lib/format"
import { slotsInUse } from "@/lib/queue/slots"
import classes from "./queue.module.css"

export function HoldersPanel() {
  const queue = useQueue()
  const nodes = useNodes()
  const now = useNow()
  const items = queue.data?.holding ?? []
  return (
    <Panel title="Machines in use" subtitle={slotsInUse(nodes.data?.items ?? [])} flush>
      <Loaded {...queue} isEmpty={items.length === 0} empty="No job is running." emptyIcon={IconServerOff}>
        <Table className={classes.table} aria-label="Jobs that have machines">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Job</Table.Th>
              <Table.Th>Status</Table.Th>
              <Table.Th>
                <Term word="slot">Slots</Term>
              </Table.Th>
              <Table.Th>GPUs</Table.Th>
              <Table.Th>Nodes</Table.Th>
              <Table.Th>Since</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((holder) => (
              <Row key={holder.id} holder={holder} now={now} />
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}

function Row({ holder: { id, name, user, status, slots, gpus, nodes, since }, now }: { holder: Holder; now: number }) {
  return (
    <Table.Tr>
      <Table.Td className={classes.name}>
        <Anchor component={Link} to={`/jobs/${id}`} size="sm" fw={600}>
          {name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {user}
        </Text>
      </Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td data-label="Slots">{slots}</Table.Td>
      <Table.Td data-label="GPUs">{formatNumber(gpus)}</Table.Td>
      <Table.Td data-label="Nodes">
        {nodes.map((node, place) => (
          <span key={node.id}>
            {place > 0 && ", "}
            <Anchor component={Link} to={`/nodes#${node.name}`} inherit underline="always">
              {node.name}
            </Anchor>{" "}
            ({node.slots})
          </span>
        ))}
      </Table.Td>
      <Table.Td data-label="Since">{formatAgo(since, now)}</Table.Td>
    </Table.Tr>
  )
}
