import { Table, Text } from "@mantine/core"
import type { Process } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useProcesses } from "@/hooks/job/useJobHistory"
import { useNothing } from "@/hooks/job/useNothing"
import { useNow } from "@/hooks/useNow"
import { formatDuration, secondsBetween } from "@/lib/format"
import { inShort } from "@/lib/job/reasons"
import { gpusOf } from "@/lib/queue/gpus"
import { hasEnded, readable } from "@/lib/status"

export function ProcessesPanel() {
  const processes = useProcesses()
  const nothing = useNothing()
  const job = useFeed((feed) => feed.job)
  const now = useNow(!hasEnded(job))
  return (
    <Panel title="Processes" subtitle="All attempts, the latest first" flush>
      <Loaded {...processes} isEmpty={processes.data.length === 0} empty={nothing("No process has been placed on a node")}>
        <Table.ScrollContainer minWidth={640} type="native" role="group" tabIndex={0} aria-label="Processes">
          <Table>
            <TableHead titles={["Process", "Status", "Node", "Attempt", "Ran for", "How it ended"]} />
            <Table.Tbody>
              {processes.data.map((process) => (
                <Row key={process.id} process={process} told={inShort(process.message, job)} now={now} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ process, told, now }: { process: Process; told: string | null; now: number }) {
  const { label, incarnation, status, node, attempt, started_at, ended_at, reason, exit_code } = process
  return (
    <Table.Tr>
      <Table.Td fw={550}>
        {label}
        {incarnation > 0 && (
          <Text span size="xs" c="dimmed">
            {" "}
            respawn {incarnation}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      <Table.Td>{[node, gpusOf(process)].filter(Boolean).join(", ")}</Table.Td>
      <Table.Td className="numbers">{attempt}</Table.Td>
      <Table.Td className="numbers">{formatDuration(secondsBetween(started_at, ended_at ?? now))}</Table.Td>
      <Table.Td maw={320} style={{ overflowWrap: "anywhere" }}>
        {reason && readable(reason)}
        {exit_code ? ` (exit code ${exit_code})` : ""}
        {told && (
          <Text size="xs" c="dimmed" lineClamp={3}>
            {told}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
