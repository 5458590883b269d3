import { Table } from "@mantine/core"
import type { Attempt } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { StatusBadge } from "@/components/StatusBadge"
import { useAttempts } from "@/hooks/queries/useAttempts"
import { useFeed } from "@/hooks/useFeed"
import { useNow } from "@/hooks/useNow"
import { formatDuration, secondsBetween } from "@/lib/format"
import { hasEnded } from "@/lib/status"

/** The lives of the job: each new one goes on from the last cut of an earlier one. */
export function AttemptsPanel() {
  const job = useFeed((feed) => feed.job)
  const attempts = useAttempts(job)
  const now = useNow(!hasEnded(job.status))
  const items = attempts.data?.items ?? []
  return (
    <Panel title="Attempts" subtitle={`${job.retries_used} of ${job.spec.retries} retries used`} flush>
      <Loaded {...attempts} isEmpty={items.length === 0} empty="The first attempt begins when there is room for all processes.">
        <Table.ScrollContainer minWidth={560} type="native" tabIndex={0} aria-label="Attempts">
          <Table>
            <Table.Thead>
              <Table.Tr>
                {["Attempt", "Status", "Began at", "Last cut", "Took", "How it ended"].map((head) => (
                  <Table.Th key={head}>{head}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody className="numbers">
              {items.toReversed().map((attempt) => (
                <Row key={attempt.number} attempt={attempt} now={now} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ attempt: { number, status, resumed_from, cut, started_at, ended_at, message }, now }: { attempt: Attempt; now: number }) {
  return (
    <Table.Tr>
      <Table.Td fw={550}>{number}</Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td>{resumed_from ? `cut ${resumed_from.cut} of attempt ${resumed_from.attempt}` : "the beginning"}</Table.Td>
      <Table.Td>{cut ?? "none"}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(started_at, ended_at ?? now))}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{message}</Table.Td>
    </Table.Tr>
  )
}
