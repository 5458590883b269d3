import { Anchor, Select, SimpleGrid, Table } from "@mantine/core"
import { useState } from "react"
import type { JobTable, JobTables } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useTables, type AskedKey } from "@/hooks/job/tables/useTables"
import { formatCount, formatNumber } from "@/lib/format"
import { RowBins } from "./RowBins"

const HEADS = ["Key", "Server", "Updates"]
const SCORED = [...HEADS, "Shows", "Clicks", "Score"]

interface SummaryProps {
  table: JobTable
  /** Looks a key up. */
  onAsk: (asked: AskedKey) => void
}

/** The hottest keys of one table, and how scores and ages of its rows are spread. */
export function HottestPanel({ onAsk }: { onAsk: (asked: AskedKey) => void }) {
  const job = useFeed((feed) => feed.job)
  const tables = useTables(job)
  const [selected, select] = useState<string | null>(null)
  const nothing = useNothing()
  const items = tables.data?.items ?? []
  const table = items.find(({ name }) => name === selected) ?? items[0]
  return (
    <Panel wide title="Hottest keys" subtitle={tables.data && about(tables.data)} actions={<TableSelect items={items} table={table} onSelect={select} />}>
      <Loaded {...tables} isEmpty={!table} empty={nothing("No server has summarized its rows")}>
        {table && <Summary table={table} onAsk={onAsk} />}
      </Loaded>
    </Panel>
  )
}

function about({ servers, of_servers: all, samples, items }: JobTables): string {
  if (items.length === 0) return "Servers read their rows about every 30 s, a part at a time"
  const some = servers < all ? ` of ${servers} of ${all} servers` : ""
  return `Rows${some} as of ${formatCount(samples)} samples. Servers read them about every 30 s, a part at a time.`
}

function TableSelect({ items, table, onSelect }: { items: readonly JobTable[]; table: JobTable | undefined; onSelect: (name: string | null) => void }) {
  if (items.length < 2 || !table) return null
  return <Select size="xs" w={{ base: 110, md: 170 }} aria-label="Table" data={items.map(({ name }) => name)} value={table.name} onChange={onSelect} allowDeselect={false} />
}

function Summary({ table, onAsk }: SummaryProps) {
  const { ages, scores } = table
  return (
    <>
      <HottestKeys table={table} onAsk={onAsk} />
      <SimpleGrid cols={{ base: 1, md: scores ? 2 : 1 }} spacing="lg" pt="md">
        <RowBins title="Passes unseen" bins={ages} whole />
        {scores && <RowBins title="Score" bins={scores} whole={false} />}
      </SimpleGrid>
    </>
  )
}

function HottestKeys({ table: { name, scores, hottest }, onAsk }: SummaryProps) {
  return (
    <Table.ScrollContainer minWidth={scores ? 560 : 320} mah={340} type="native" role="region" tabIndex={0} aria-label={`Hottest keys of ${name}`}>
      <Table verticalSpacing={4} stickyHeader>
        <TableHead titles={scores ? SCORED : HEADS} />
        <Table.Tbody className="numbers">
          {hottest.map(({ key, server, updates, shows, clicks, score }) => (
            <Table.Tr key={key}>
              <Table.Td>
                <Anchor component="button" type="button" size="sm" fw={550} title="Look it up" onClick={() => onAsk({ typed: key, field: null, table: name, at: Date.now() })}>
                  {key}
                </Anchor>
              </Table.Td>
              <Table.Td>{server}</Table.Td>
              <Table.Td>{formatCount(updates)}</Table.Td>
              {scores && [shows, clicks, score].map((value, place) => <Table.Td key={place}>{formatNumber(value)}</Table.Td>)}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
