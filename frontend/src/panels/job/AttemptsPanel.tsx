import { Table, Text } from "@mantine/core"
import type { Life } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { StatusBadge } from "@/components/StatusBadge"
import { useOverview } from "@/hooks/queries/useOverview"
import { useFeed } from "@/hooks/useFeed"
import { useNow } from "@/hooks/useNow"
import { formatCount, formatDuration, secondsBetween } from "@/lib/format"
import { spans } from "@/lib/overview"
import { inShort } from "@/lib/reasons"
import { hasEnded } from "@/lib/status"
import { Strip } from "./Strip"

const HEADS = ["Attempt", "Status", "Began at", "Waited", "Started in", "Ran for", "Last cut", "How it ended", "What the restart cost"]

/** The lives of the job with their phases: each new one goes on from the last cut of an earlier one. */
export function AttemptsPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const ticking = useNow(!hasEnded(job.status))
  const now = job.ended_at ? Date.parse(job.ended_at) : ticking
  const items = overview.data?.lives ?? []
  return (
    <Panel title="Attempts" subtitle={`${job.retries_used} of ${job.spec.retries} retries used`} flush>
      <Loaded {...overview} isEmpty={items.length === 0} empty="The first attempt begins when there is room for all processes.">
        <Strip spans={spans(items, now)} />
        <Table.ScrollContainer minWidth={860} type="native" role="group" tabIndex={0} aria-label="Attempts">
          <Table>
            <Table.Thead>
              <Table.Tr>
                {HEADS.map((head) => (
                  <Table.Th key={head}>{head}</Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody className="numbers">
              {items.toReversed().map((life) => (
                <Row key={life.number} life={life} told={inShort(life.message, job)} now={now} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ life, told, now }: { life: Life; told: string | null; now: number }) {
  const { number, status, resumed_from, cut, queued_at, started_at, running_at, ended_at } = life
  return (
    <Table.Tr>
      <Table.Td fw={550}>{number}</Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td>{resumed_from ? `cut ${resumed_from.cut} of attempt ${resumed_from.attempt}` : "the beginning"}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(queued_at, started_at))}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(started_at, running_at ?? ended_at ?? now))}</Table.Td>
      <Table.Td>{formatDuration(secondsBetween(running_at, ended_at ?? now))}</Table.Td>
      <Table.Td>{cut ?? "none"}</Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{told}</Table.Td>
      <Table.Td>
        <Price life={life} />
      </Table.Td>
    </Table.Tr>
  )
}

function Price({ life: { cost } }: { life: Life }) {
  if (!cost) return null
  return (
    <>
      {cost.seconds === null ? "not running yet" : formatDuration(cost.seconds)}
      <Text size="xs" c="dimmed">
        {formatCount(cost.pushes)} pushes undone{cost.samples ? `, ${formatCount(cost.samples)} samples again` : ""}
      </Text>
    </>
  )
}
