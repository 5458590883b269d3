import { Table, VisuallyHidden } from "@mantine/core"
import type { Process } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { ProcessActions } from "./ProcessActions"

export interface Column<T> {
  head: string
  cell: (load: T) => string
}

interface LoadTableProps<T> {
  name: string
  loads: readonly T[]
  columns: readonly Column<T>[]
  /** Processes of the live attempt, by label. */
  processes: ReadonlyMap<string, Process>
}

/** Processes with their figures, a row each, and what can be done to them. */
export function LoadTable<T extends { label: string }>({ name, loads, columns, processes }: LoadTableProps<T>) {
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

function Row<T extends { label: string }>({ load, columns, process }: { load: T; columns: readonly Column<T>[]; process: Process | undefined }) {
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
        {load.label}
        {process && process.incarnation > 0 && `.${process.incarnation}`}
      </Table.Td>
      <Table.Td>{process && <StatusBadge status={process.status} />}</Table.Td>
      {columns.map(({ head, cell }) => (
        <Table.Td key={head} ta="right" style={{ whiteSpace: "nowrap" }}>
          {cell(load)}
        </Table.Td>
      ))}
      <Table.Td ta="right">{process && <ProcessActions process={process} />}</Table.Td>
    </Table.Tr>
  )
}
