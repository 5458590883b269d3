import { Anchor, Table } from "@mantine/core"
import type { ReactNode } from "react"
import { Link } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useJobCounts } from "@/hooks/jobs/useJobs"
import { useHealth } from "@/hooks/platform/useAbout"
import { useNodes } from "@/hooks/platform/useNodes"
import { counted, formatCount } from "@/lib/format"

/** Which version this is, and what it is doing. */
export function AboutPanel() {
  const health = useHealth()
  const nodes = useNodes().data?.items ?? []
  const jobs: Partial<Record<string, number>> = useJobCounts().data?.status ?? {}
  const ready = nodes.filter(({ status }) => status === "ready")
  const versions = [...new Set(nodes.map(({ version }) => version))].sort()
  const total = Object.values(jobs).reduce<number>((sum, count) => sum + (count ?? 0), 0)
  const processes = nodes.reduce((sum, node) => sum + node.processes.length, 0)
  const lines: [string, ReactNode][] = [
    ["Gradstream", `version ${health.data?.version ?? ""}`],
    ["Nodes", <Anchor key="nodes" component={Link} to="/nodes" inherit>{`${ready.length} of ${nodes.length} ready`}</Anchor>],
    ["Agents", versions.length === 0 ? "none" : `version ${versions.join(", ")}`],
    ["Running", <Anchor key="running" component={Link} to="/jobs?status=running" inherit>{`${counted(jobs.running ?? 0, "job")}, ${counted(processes, "process", "processes")}`}</Anchor>],
    ["Waiting", <Anchor key="waiting" component={Link} to="/queue" inherit>{counted(jobs.queued ?? 0, "job")}</Anchor>],
    ["Total jobs", formatCount(total)],
    ["API", <Anchor key="api" component={Link} to="/docs" inherit>documentation</Anchor>],
  ]
  return (
    <Panel title="About" subtitle="Version and state of this platform">
      <Loaded {...health}>
        <Table variant="vertical" aria-label="About">
          <Table.Tbody>
            {lines.map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" w={130}>
                  {name}
                </Table.Th>
                <Table.Td>{value}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}
