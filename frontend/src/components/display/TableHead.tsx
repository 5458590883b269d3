import { Table } from "@mantine/core"

/** The head of a table: a title above each column. */
export function TableHead({ titles }: { titles: readonly string[] }) {
  return (
    <Table.Thead>
      <Table.Tr>
        {titles.map((title, column) => (
          <Table.Th key={column}>{title}</Table.Th>
        ))}
      </Table.Tr>
    </Table.Thead>
  )
}
