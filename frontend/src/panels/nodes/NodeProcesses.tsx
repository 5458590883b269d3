import { Anchor, Table, Text } from "@mantine/core"
import { Link } from "react-router"
import type { Node } from "@/client"
import { StatusBadge } from "@/components/display/StatusBadge"
import { formatAgo, formatBytes, formatPercent } from "@/lib/format"
import classes from "./NodeCard.module.css"

type NodeProcess = Node["processes"][number]

interface Measure {
  head: string
  cell: (process: NodeProcess) => string
}

const ON_ALL: Measure[] = [
  { head: "CPU", cell: ({ cpu }) => formatPercent(cpu, 0) },
  { head: "Memory", cell: ({ memory }) => formatBytes(memory) },
]
const ON_GPUS: Measure[] = [
  { head: "GPU", cell: ({ gpu }) => formatPercent(gpu, 0) },
  { head: "GPU memory", cell: ({ gpu_memory }) => formatBytes(gpu_memory) },
]

export function NodeProcesses({ node: { name, processes, gpus }, now }: { node: Node; now: number }) {
  if (processes.length === 0) {
    return (
      <Text size="sm" mt="sm" c="dimmed">
        No process runs here.
      </Text>
    )
  }
  const measures = gpus.length > 0 ? [...ON_ALL, ...ON_GPUS] : ON_ALL
  return (
    <Table.ScrollContainer minWidth={350 + 70 * measures.length} type="native" role="group" tabIndex={0} aria-label={`Processes on ${name}`}>
      <Table mt="sm" verticalSpacing={6} className={classes.processes}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Job</Table.Th>
            <Table.Th>Process</Table.Th>
            <Table.Th>Status</Table.Th>
            {measures.map(({ head }) => (
              <Table.Th key={head} ta="right">
                {head}
              </Table.Th>
            ))}
            <Table.Th>Started</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {processes.map((process) => (
            <Row key={process.id} process={process} measures={measures} now={now} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Row({ process, measures, now }: { process: NodeProcess; measures: readonly Measure[]; now: number }) {
  const { job_id, job, label, status, started_at } = process
  return (
    <Table.Tr>
      <Table.Td className={classes.job}>
        <Anchor component={Link} to={`/jobs/${job_id}/processes`} size="sm">
          {job}
        </Anchor>
      </Table.Td>
      <Table.Td>{label}</Table.Td>
      <Table.Td>
        <StatusBadge status={status} />
      </Table.Td>
      {measures.map(({ head, cell }) => (
        <Table.Td key={head} ta="right" className={`numbers ${classes.measure}`}>
          {cell(process)}
        </Table.Td>
      ))}
      <Table.Td className={classes.measure}>{started_at && formatAgo(started_at, now)}</Table.Td>
    </Table.Tr>
  )
}
