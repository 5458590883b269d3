import { Progress, Table, Text } from "@mantine/core"
import type { RowBin } from "@/client"
import { formatCount, formatPercent } from "@/lib/format"
import { binTitle } from "@/lib/job/tables"

/** How many rows have a value in each bin. */
export function RowBins({ bins, title, whole }: { bins: readonly RowBin[]; title: string; whole: boolean }) {
  const all = bins.reduce((sum, { rows }) => sum + rows, 0)
  const most = Math.max(1, ...bins.map(({ rows }) => rows))
  return (
    <Table verticalSpacing={3} aria-label={title}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{title}</Table.Th>
          <Table.Th aria-hidden w="40%" />
          <Table.Th>Rows</Table.Th>
          <Table.Th>Share</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody className="numbers">
        {bins.map((bin) => (
          <Table.Tr key={bin.least}>
            <Table.Td style={{ whiteSpace: "nowrap" }}>
              <Text size="sm">{binTitle(bin, whole)}</Text>
            </Table.Td>
            <Table.Td aria-hidden>
              <Progress value={(100 * bin.rows) / most} size="sm" />
            </Table.Td>
            <Table.Td>{formatCount(bin.rows)}</Table.Td>
            <Table.Td style={{ whiteSpace: "nowrap" }}>{formatPercent(all > 0 ? bin.rows / all : null)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
