import { Table } from "@mantine/core"
import type { Death, Life } from "@/client"
import { Panel } from "@/components/Panel"
import { useOverview } from "@/hooks/queries/useOverview"
import { useFeed } from "@/hooks/useFeed"
import { formatMoment } from "@/lib/format"
import { priceOf } from "@/lib/overview"
import { inShort } from "@/lib/reasons"
import { readable } from "@/lib/status"

const HEADS = ["Process", "When", "Why", "What it cost"]

/** Processes that ended before their time, and what that cost; nothing where none did. */
export function DeathsPanel() {
  const job = useFeed((feed) => feed.job)
  const { data } = useOverview(job)
  if (!data || data.deaths.length === 0) return null
  return (
    <Panel title="Deaths and restarts" subtitle="Processes that ended before their work was done" flush>
      <Table.ScrollContainer minWidth={640} mah={360} type="native" role="group" tabIndex={0} aria-label="Deaths and restarts">
        <Table>
          <Table.Thead>
            <Table.Tr>
              {HEADS.map((head) => (
                <Table.Th key={head}>{head}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.deaths.toReversed().map((death) => (
              <Row key={death.process_id} death={death} told={inShort(death.message, job)} lives={data.lives} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

function Row({ death, told, lives }: { death: Death; told: string | null; lives: readonly Life[] }) {
  const { label, attempt, incarnation, at, reason } = death
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
        {label}
        {incarnation > 0 && `.${incarnation}`}
      </Table.Td>
      <Table.Td className="numbers" style={{ whiteSpace: "nowrap" }}>
        <time dateTime={at}>{formatMoment(at)}</time>, attempt {attempt}
      </Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{told ?? (reason && readable(reason))}</Table.Td>
      <Table.Td className="numbers">{priceOf(death, lives)}</Table.Td>
    </Table.Tr>
  )
}
