import { Table } from "@mantine/core"
import { TableHead } from "@/components/display/TableHead"

interface DifferencesTableProps {
  head: string
  rows: readonly { path: string; values: readonly string[] }[]
  names: readonly [string, string]
}

/** Names, and the values of two jobs. */
export function DifferencesTable({ head, rows, names }: DifferencesTableProps) {
  return (
    <Table.ScrollContainer minWidth={420} type="native" role="group" tabIndex={0} aria-label={`Differences: ${head.toLowerCase()}`}>
      <Table verticalSpacing={6}>
        <TableHead titles={[head, ...names]} />
        <Table.Tbody>
          {rows.map(({ path, values }) => (
            <Table.Tr key={path}>
              <Table.Td ff="monospace">{path}</Table.Td>
              {values.map((value, index) => (
                <Table.Td key={index} style={{ overflowWrap: "anywhere" }}>
                  {value}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
