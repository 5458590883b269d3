import { Table } from "@mantine/core"
import { shown, type AxisView } from "@/lib/charts/axes"
import { columnAt, compact, type Column } from "@/lib/charts/columns"
import type { ChartLine } from "@/lib/charts/lines"
import { valueUnit, writeValue, type ValueUnit } from "@/lib/charts/scales/units"
import { formatCount } from "@/lib/format"

interface ChartTableProps {
  title: string
  lines: readonly ChartLine[]
  view: AxisView
  quantity?: string
  height: number
}

/** Rows for each line: as many as can be read. The export has every point. */
const ROWS = 40
const HEADS = ["Line", "From", "First", "Lowest", "Highest", "Last", "Mean", "Points", "Not finite"]

/** A chart's values, in numbers. */
export function ChartTable({ title, lines, view, quantity = "", height }: ChartTableProps) {
  const rows = lines.map((line) => ({ line, columns: rowsOf(line) }))
  const unit = valueUnit(quantity, largest(rows.flatMap(({ columns }) => columns)))
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
        <Table.Tbody className="numbers">{rows.map(({ line, columns }) => columns.map((column, index) => <Row key={`${line.label} ${index}`} {...{ line, column, view, unit }} />))}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function rowsOf({ columns }: ChartLine): Column[] {
  const few = columns.x.length > ROWS ? compact(columns, ROWS) : columns
  return few.x.map((_, index) => columnAt(few, index))
}

function largest(columns: readonly Column[]): number {
  return columns.reduce((most, { low, high }) => Math.max(most, Math.abs(low) || 0, Math.abs(high) || 0), 0)
}

function Row({ line, column, view, unit }: { line: ChartLine; column: Column; view: AxisView; unit: ValueUnit }) {
  const { x, first, low, high, last, mean, count, odd } = column
  return (
    <Table.Tr>
      <Table.Td>{line.label}</Table.Td>
      <Table.Td>{view.format(shown(x, view))}</Table.Td>
      {[first, low, high, last, mean].map((value, index) => (
        <Table.Td key={index}>{writeValue(value, unit)}</Table.Td>
      ))}
      <Table.Td>{formatCount(count)}</Table.Td>
      <Table.Td>{formatCount(odd)}</Table.Td>
    </Table.Tr>
  )
}
