import { Anchor, NumberInput, Table, Text } from "@mantine/core"
import { useState } from "react"
import { Link } from "react-router"
import type { Waiting } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useChangePriority, useQueue } from "@/hooks/queries/useQueue"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatCount } from "@/lib/format"
import { readable } from "@/lib/status"
import classes from "./queue.module.css"

export function WaitingPanel() {
  const queue = useQueue()
  const now = useNow()
  const items = queue.data?.waiting ?? []
  const total = queue.data?.waiting_total ?? 0
  const subtitle = total > items.length ? `${formatCount(total)} jobs wait; the first ${items.length} are shown` : undefined
  return (
    <Panel title="Waiting" subtitle={subtitle} flush>
      <Loaded {...queue} isEmpty={items.length === 0} empty="No job waits.">
        <Table className={classes.table} aria-label="Waiting jobs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Place</Table.Th>
              <Table.Th>Job</Table.Th>
              <Table.Th>Why it waits</Table.Th>
              <Table.Th>Workers</Table.Th>
              <Table.Th>Priority</Table.Th>
              <Table.Th>Submitted</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((job) => (
              <Row key={job.id} job={job} now={now} />
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}

function Row({ job, now }: { job: Waiting; now: number }) {
  return (
    <Table.Tr>
      <Table.Td data-label="Place">{job.position}</Table.Td>
      <Table.Td className={classes.name}>
        <Anchor component={Link} to={`/jobs/${job.id}`} size="sm" fw={600}>
          {job.name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {job.user}
        </Text>
      </Table.Td>
      <Table.Td className={classes.reason}>
        {job.message}
        {job.reason && (
          <Text size="xs" c="dimmed">
            {readable(job.reason)}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-label="Workers">
        {job.workers} <Text span size="xs" c="dimmed">{job.device}</Text>
      </Table.Td>
      <Table.Td data-label="Priority">
        <Priority key={job.priority} job={job} />
      </Table.Td>
      <Table.Td data-label="Submitted">{formatAgo(job.created_at, now)}</Table.Td>
    </Table.Tr>
  )
}

/** Taken over when it is left or confirmed by Enter. */
function Priority({ job }: { job: Waiting }) {
  const change = useChangePriority(job.id)
  const [value, setValue] = useState<number | string>(job.priority)
  const commit = () => {
    if (typeof value === "number" && value !== job.priority) change.mutate(value)
    else setValue(job.priority)
  }
  return (
    <NumberInput
      size="xs"
      w={84}
      min={0}
      max={100}
      allowDecimal={false}
      aria-label={`Priority of ${job.name}`}
      value={value}
      onChange={setValue}
      onBlur={commit}
      onKeyDown={(event) => event.key === "Enter" && commit()}
      error={change.error?.message}
    />
  )
}
