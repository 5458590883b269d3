import { Table } from "@mantine/core"
import { shown, type AxisView } from "@/lib/charts/axes"
import { columnAt, compact, type Column } from "@/lib/charts/columns"
import type { ChartLine } from "@/lib/charts/lines"

interface ChartTableProps {
  title: string
  lines: readonly ChartLine[]
  view: AxisView
  formatY: (y: number) => string
  height: number
}

/** Rows for each line: as many as can be read. The export has every point. */
const ROWS = 40
const HEADS = ["Line", "From", "First", "Lowest", "Highest", "Last", "Mean", "Points", "Not finite"]

/** A chart's values, in numbers. */
export function ChartTable({ title, lines, view, formatY, height }: ChartTableProps) {
  return (
    <Table.ScrollContainer minWidth={560} mah={height} type="native" role="region" tabIndex={0} aria-label={`${title} in numbers`}>
      <Table verticalSpacing={3} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            {HEADS.map((head) => (
              <Table.Th key={head}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">{lines.map((line) => rowsOf(line).map((column, index) => <Row key={`${line.label} ${index}`} {...{ line, column, view, formatY }} />))}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function rowsOf({ columns }: ChartLine): Column[] {
  const few = columns.x.length > ROWS ? compact(columns, ROWS) : columns
  return few.x.map((_, index) => columnAt(few, index))
}

function Row({ line, column, view, formatY }: { line: ChartLine; column: Column; view: AxisView; formatY: (y: number) => string }) {
  const { x, first, low, high, last, mean, count, odd } = column
  return (
    <Table.Tr>
      <Table.Td>{line.label}</Table.Td>
      <Table.Td>{view.format(shown(x, view))}</Table.Td>
      {[first, low, high, last, mean].map((value, index) => (
        <Table.Td key={index}>{formatY(value)}</Table.Td>
      ))}
      <Table.Td>{count}</Table.Td>
      <Table.Td>{odd}</Table.Td>
    </Table.Tr>
  )
}
