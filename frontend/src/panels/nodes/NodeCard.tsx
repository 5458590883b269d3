import { Anchor, Group, Progress, Text } from "@mantine/core"
import { Link } from "react-router"
import type { Node } from "@/client"
import { Panel } from "@/components/Panel"
import { Stat } from "@/components/Stat"
import { StatusBadge } from "@/components/StatusBadge"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatBytes } from "@/lib/format"
import classes from "./NodeCard.module.css"

export function NodeCard({ node }: { node: Node }) {
  const now = useNow()
  const { name, status, slots, slots_used, cpus, memory, gpus, version, last_seen_at, processes } = node
  return (
    <Panel title={name} subtitle={`Version ${version}, seen ${formatAgo(last_seen_at, now)}`} actions={<StatusBadge status={status} />}>
      <Group gap="sm" wrap="nowrap">
        <Progress value={(100 * slots_used) / Math.max(1, slots)} flex={1} aria-label={`Slots of ${name} in use`} />
        <Text size="sm" className="numbers">
          {slots_used} of {slots} slots
        </Text>
      </Group>
      <dl className={classes.stats}>
        <Stat label="CPUs" value={String(cpus)} />
        <Stat label="Memory" value={formatBytes(memory)} />
        <Stat label="GPUs" value={gpus.length === 0 ? "none" : String(gpus.length)} />
      </dl>
      {gpus.map((gpu) => (
        <Text key={gpu.index} size="sm" c="dimmed">
          GPU {gpu.index}: {gpu.name}, {formatBytes(gpu.memory)}, {gpu.used_by ? "in use" : "free"}
        </Text>
      ))}
      <Text size="sm" mt="sm" c={processes.length === 0 ? "dimmed" : undefined}>
        {processes.length === 0 ? "No process runs here." : "Running: "}
        {processes.map(({ id, job_id, label }, index) => (
          <span key={id}>
            {index > 0 && ", "}
            <Anchor component={Link} to={`/jobs/${job_id}/processes`}>
              {label}
            </Anchor>
          </span>
        ))}
      </Text>
    </Panel>
  )
}
