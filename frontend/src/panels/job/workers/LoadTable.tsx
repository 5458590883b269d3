import { ActionIcon, Group, Table, VisuallyHidden } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react"
import type { PeerLoad, Process } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { ProcessActions } from "./ProcessActions"

export interface Column<T> {
  head: string
  cell: (load: T) => string
  /** The same of one process of a group; without it, its cell is empty. */
  peerCell?: (peer: PeerLoad) => string
}

interface Load {
  label: string
  /** The processes of a worker that is a group. */
  peers?: readonly PeerLoad[]
}

interface LoadTableProps<T> {
  name: string
  loads: readonly T[]
  columns: readonly Column<T>[]
  /** Processes of the live attempt, by label. */
  processes: ReadonlyMap<string, Process>
}

/** Processes with their figures, a row each, and what can be done to them. */
export function LoadTable<T extends Load>({ name, loads, columns, processes }: LoadTableProps<T>) {
  return (
    <Table.ScrollContainer minWidth={160 + 92 * columns.length} type="native" role="group" tabIndex={0} aria-label={name}>
      <Table verticalSpacing="xs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Process</Table.Th>
            <Table.Th>State</Table.Th>
            {columns.map(({ head }) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
            <Table.Th pos="relative">
              <VisuallyHidden>Actions</VisuallyHidden>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">
          {loads.map((load) => (
            <Row key={load.label} load={load} columns={columns} process={processes.get(load.label)} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Row<T extends Load>({ load, columns, process }: { load: T; columns: readonly Column<T>[]; process: Process | undefined }) {
  const [open, { toggle }] = useDisclosure(false)
  const peers = load.peers ?? []
  const Icon = open ? IconChevronDown : IconChevronRight
  return (
    <>
      <Table.Tr>
        <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
          <Group gap={4} wrap="nowrap">
            {load.label}
            {process && process.incarnation > 0 && `.${process.incarnation}`}
            {peers.length > 0 && (
              <ActionIcon variant="subtle" color="gray" size="sm" onClick={toggle} aria-expanded={open} aria-label={`Processes of ${load.label}`}>
                <Icon size={16} />
              </ActionIcon>
            )}
          </Group>
        </Table.Td>
        <Table.Td>{process && <StatusBadge status={process.status} />}</Table.Td>
        {columns.map(({ head, cell }) => (
          <Table.Td key={head} ta="right" style={{ whiteSpace: "nowrap" }}>
            {cell(load)}
          </Table.Td>
        ))}
        <Table.Td ta="right">{process && <ProcessActions process={process} />}</Table.Td>
      </Table.Tr>
      {open && peers.map((peer) => <PeerRow key={peer.number} peer={peer} columns={columns} />)}
    </>
  )
}

/** One process of a group, below its worker. */
function PeerRow<T>({ peer, columns }: { peer: PeerLoad; columns: readonly Column<T>[] }) {
  return (
    <Table.Tr>
      <Table.Td pl="xl" c="dimmed" style={{ whiteSpace: "nowrap" }} colSpan={2}>
        {peer.number === 0 ? "peer 0, the lead" : `peer ${peer.number}`}
        {peer.node && `${peer.number === 0 ? "," : ""} on ${peer.node}`}
      </Table.Td>
      {columns.map(({ head, peerCell }) => (
        <Table.Td key={head} ta="right" c="dimmed" style={{ whiteSpace: "nowrap" }}>
          {peerCell?.(peer)}
        </Table.Td>
      ))}
      <Table.Td />
    </Table.Tr>
  )
}
