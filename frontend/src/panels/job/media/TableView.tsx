import { Group, Table, UnstyledButton } from "@mantine/core"
import { IconArrowDown, IconArrowsUpDown, IconArrowUp } from "@tabler/icons-react"
import { useMemo, useState } from "react"
import type { MediaItem } from "@/client"
import { SaveIcon } from "@/components/buttons/SaveIcon"
import { Loaded } from "@/components/messages/Loaded"
import { useMediaTable } from "@/hooks/job/media/useMedia"
import { counted } from "@/lib/format"
import { cellText, csvOf, sortRows, type LoggedTable } from "@/lib/media/media"

interface Sorting {
  column: number
  descending: boolean
}

/** A logged table, sorted by the column whose head was selected. */
export function TableView({ jobId, item }: { jobId: string; item: MediaItem }) {
  const table = useMediaTable(jobId, item.seq)
  return <Loaded {...table}>{table.data && <Rows table={table.data} name={item.name} step={item.step} />}</Loaded>
}

function Rows({ table, name, step }: { table: LoggedTable; name: string; step: number }) {
  const [sorting, sort] = useState<Sorting | null>(null)
  const rows = useMemo(() => (sorting && sorting.column < table.columns.length ? sortRows(table.rows, sorting.column, sorting.descending) : table.rows), [table, sorting])
  return (
    <>
      <Table.ScrollContainer minWidth={90 * table.columns.length} mah={360} type="native" role="region" tabIndex={0} aria-label={`Table ${name}`}>
        <Table verticalSpacing={3} stickyHeader>
          <Table.Thead>
            <Table.Tr>
              {table.columns.map((head, column) => (
                <Head key={column} head={head} sorting={sorting?.column === column ? sorting : null} onSort={(descending) => sort({ column, descending })} />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody className="numbers">
            {rows.map((row, index) => (
              <Table.Tr key={index}>
                {row.map((cell, column) => (
                  <Table.Td key={column} style={{ overflowWrap: "anywhere" }}>
                    {cellText(cell)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group gap="xs" pt={6} fz="xs" c="dimmed">
        {counted(rows.length, "row")}
        <SaveIcon text={csvOf({ ...table, rows })} name={`${name.replaceAll("/", "-")}-${step}.csv`} what="CSV" />
      </Group>
    </>
  )
}

function Head({ head, sorting, onSort }: { head: string; sorting: Sorting | null; onSort: (descending: boolean) => void }) {
  const Icon = sorting ? (sorting.descending ? IconArrowDown : IconArrowUp) : IconArrowsUpDown
  return (
    <Table.Th aria-sort={sorting ? (sorting.descending ? "descending" : "ascending") : "none"}>
      <UnstyledButton fz="inherit" fw="inherit" onClick={() => onSort(sorting ? !sorting.descending : false)}>
        {head} <Icon size={12} style={{ verticalAlign: "-1px" }} aria-hidden />
      </UnstyledButton>
    </Table.Th>
  )
}
