import { Code, List, Stack, Table, Text } from "@mantine/core"
import type { Straggler, StragglerRemedy } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useStragglers } from "@/hooks/job/useStragglers"
import { formatClock, formatNumber } from "@/lib/format"

const HEADS = ["Worker", "Slower", "From", "Until", "Why"]

/** Which workers are slow, since when, why, what that costs, and what would help. One sentence where all are equally fast. */
export function StragglersPanel() {
  const job = useFeed((feed) => feed.job)
  const found = useStragglers(job)
  const nothing = useNothing()
  const { message = "", items = [], cost = null, remedies = [] } = found.data ?? {}
  return (
    <Panel title={<Term word="straggler">Stragglers</Term>} subtitle="Workers whose mini-batches take at least twice as long as the others' in this attempt">
      <Loaded {...found} isEmpty={message === ""} empty={nothing("Nothing has been measured")}>
        <Stack gap="xs">
          <Text size="sm" fw={items.length > 0 ? 550 : undefined}>
            {message}
          </Text>
          {items.length > 0 && <Stragglers items={items} />}
          {cost && <Text size="sm">{cost}</Text>}
          {remedies.length > 0 && <Remedies remedies={remedies} />}
        </Stack>
      </Loaded>
    </Panel>
  )
}

function Stragglers({ items }: { items: readonly Straggler[] }) {
  return (
    <Table.ScrollContainer minWidth={640} mah={360} type="native" role="group" tabIndex={0} aria-label="Stragglers">
      <Table>
        <TableHead titles={HEADS} />
        <Table.Tbody>
          {items.map(({ label, since, until, factor, from_start, why, node }) => (
            <Table.Tr key={`${label} ${since}`}>
              <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
                {label}
                <Text size="xs" c="dimmed">
                  {node}
                </Text>
              </Table.Td>
              <Table.Td className="numbers">{formatNumber(factor, 2)} ×</Table.Td>
              <Table.Td className="numbers">{from_start ? "its start" : <time dateTime={since}>{formatClock(since)}</time>}</Table.Td>
              <Table.Td className="numbers">{until === null ? "" : <time dateTime={until}>{formatClock(until)}</time>}</Table.Td>
              <Table.Td style={{ minWidth: 260, overflowWrap: "anywhere" }}>{why}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Remedies({ remedies }: { remedies: readonly StragglerRemedy[] }) {
  return (
    <div>
      <Text size="sm" fw={550}>
        Changes that would help
      </Text>
      <List size="sm" spacing={4} mt={4} aria-label="Changes that would help">
        {remedies.map(({ setting, message, gain }) => (
          <List.Item key={message} style={{ overflowWrap: "anywhere" }}>
            {setting && <Code>{setting}</Code>} {message} {gain && <strong>{gain}</strong>}
          </List.Item>
        ))}
      </List>
    </div>
  )
}
