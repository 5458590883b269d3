import { Table, Text } from "@mantine/core"
import type { AttemptOverview } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useOverview } from "@/hooks/job/useOverview"
import { useNow } from "@/hooks/useNow"
import { formatCount, formatDuration, secondsBetween } from "@/lib/format"
import { spans } from "@/lib/job/overview"
import { inShort } from "@/lib/job/reasons"
import { hasEnded } from "@/lib/status"
import { Strip } from "./Strip"

const HEADS = ["Attempt", "Status", "Started from", "Waited", "Started in", "Ran for", "Last checkpoint", "Outcome", "Restart cost"]

/** The attempts of a job with their phases: each new one goes on from the last checkpoint of an earlier one. */
export function AttemptsPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const ticking = useNow(!hasEnded(job))
  const now = job.ended_at ? Date.parse(job.ended_at) : ticking
  const items = overview.data?.attempts ?? []
  return (
    <Panel title={<Term word="attempt">Attempts</Term>} subtitle={`${job.retries_used} of ${job.spec.retries} retries used`} flush>
      <Loaded {...overview} isEmpty={items.length === 0} empty="The first attempt starts when all processes fit on the machines.">
        <Strip spans={spans(items, now)} />
        <Table.ScrollContainer minWidth={860} type="native" role="group" tabIndex={0} aria-label="Attempts">
          <Table>
            <TableHead titles={HEADS} />
            <Table.Tbody className="numbers">
              {items.toReversed().map((attempt) => (
                <Row key={attempt.number} attempt={attempt} told={inShort(attempt.message, job)} now={now} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ attempt, told, now }: { attempt: AttemptOverview; told: string | null; now: number }) {
  const { number, status, resumed_from, checkpoint, queued_at, started_at, running_at, ended_at } = attempt
  return (
    <Table.Tr>
      <Table.Td fw={550}>{number}</Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td>{resumed_from ? `checkpoint ${resumed_from.checkpoint} of attempt ${resumed_from.attempt}` : "the beginning"}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(queued_at, started_at))}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(started_at, running_at ?? ended_at ?? now))}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(running_at, ended_at ?? now))}</Table.Td>
      <Table.Td>{checkpoint ?? "none"}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{told}</Table.Td>
      <Table.Td>
        <Price attempt={attempt} />
      </Table.Td>
    </Table.Tr>
  )
}

function Price({ attempt: { cost } }: { attempt: AttemptOverview }) {
  if (!cost) return null
  return (
    <>
      {cost.seconds === null ? "not running yet" : formatDuration(cost.seconds)}
      <Text size="xs" c="dimmed">
        {formatCount(cost.pushes)} pushes rolled back{cost.samples ? `, ${formatCount(cost.samples)} samples again` : ""}
      </Text>
    </>
  )
}
