import { Alert, Anchor, Progress, Text } from "@mantine/core"
import { Link } from "react-router"
import type { Node } from "@/client"
import { Stat } from "@/components/display/Stat"
import { StatusBadge } from "@/components/display/StatusBadge"
import { Panel } from "@/components/page/Panel"
import { useRotateNode } from "@/hooks/platform/useNodes"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatBytes, formatDuration, formatMoment, formatNumber, formatPercent } from "@/lib/format"
import { DrainButton } from "./DrainButton"
import { NodeProcesses } from "./NodeProcesses"
import { RemoveButton } from "./RemoveButton"
import { RotateButton } from "./RotateButton"
import { RotationNote } from "./RotationNote"
import classes from "./NodeCard.module.css"

export function NodeCard({ node }: { node: Node }) {
  const now = useNow()
  const { name, status, cpus, memory, memory_used, load, gpus, torch, version, last_seen_at, draining_since, trouble, retry_at } = node
  const { joined_at, joined_with, isolation } = node
  const rotate = useRotateNode(node.id)
  const actions = (
    <>
      <StatusBadge status={status !== "ready" ? status : draining_since ? "draining" : trouble ? "unavailable" : status} />
      <DrainButton node={node} />
      <RotateButton node={node} rotate={rotate} />
      <RemoveButton node={node} />
    </>
  )
  return (
    <div id={name}>
      <Panel title={name} subtitle={`Version ${version}, seen ${formatAgo(last_seen_at, now)}`} actions={actions}>
        {draining_since && (
          <Alert variant="light" color="yellow" p="xs" mb="sm">
            <Text size="sm">
              Draining since {formatAgo(draining_since, now)}: nothing new is scheduled here{node.processes.length > 0 ? "; running processes may finish" : ""}.
            </Text>
          </Alert>
        )}
        <RotationNote node={node} asked={rotate.isSuccess} />
        {trouble && status === "ready" && (
          <Alert variant="light" color="red" p="xs" mb="sm">
            <Text size="sm">
              {trouble} No new process is scheduled here; {retry_at !== null && Date.parse(retry_at) > now ? `it is tried again in ${formatDuration((Date.parse(retry_at) - now) / 1000)}` : "the next job tries it again"}.
            </Text>
          </Alert>
        )}
        <Share name={`Slots of ${name}`} used={node.slots_used} of={node.slots} said={`${node.slots_used} of ${node.slots} slots`} />
        <Share name={`Memory of ${name}`} used={memory_used ?? 0} of={memory} said={memory_used === null ? `${formatBytes(memory)} memory` : `${formatBytes(memory_used)} of ${formatBytes(memory)} memory`} />
        <dl className={classes.stats}>
          <Stat label="CPUs" value={String(cpus)} />
          <Stat label="Load" value={formatNumber(load)} note={load === null ? undefined : "last minute"} />
          <Stat label="GPUs" value={gpus.length === 0 ? "none" : String(gpus.length)} />
        </dl>
        <Gpus node={node} />
        <Text size="sm" c="dimmed">
          torch: {torch ? `${torch.version}, ${torch.cuda ? `CUDA ${torch.cuda}` : "no CUDA"}` : "unknown"}
          {torch && !torch.cuda && gpus.length > 0 && ". Jobs use no GPU here: install a torch with CUDA, and start the agent again"}
        </Text>
        <Text size="sm" c={isolation?.level === "none" ? undefined : "dimmed"} style={{ overflowWrap: "anywhere" }}>
          Isolation of jobs: {isolation ? describeIsolation(isolation) : "unknown"}
        </Text>
        {joined_at && (
          <Text size="sm" c="dimmed" title={formatMoment(joined_at)} style={{ overflowWrap: "anywhere" }}>
            Joined {formatAgo(joined_at, now)} by the token {joined_with}
          </Text>
        )}
        <NodeProcesses node={node} now={now} />
      </Panel>
    </div>
  )
}

function describeIsolation({ level, account, network, note }: NonNullable<Node["isolation"]>) {
  const parts = [level, level !== "none" && account && "an account per process", network === "platform" && "no network but the platform's"]
  return `${parts.filter(Boolean).join(", ")}${note && `. ${note}`}`
}

function Share({ name, used, of, said }: { name: string; used: number; of: number; said: string }) {
  return (
    <div className={classes.share}>
      <Progress value={(100 * used) / Math.max(1, of)} aria-label={`${name} in use`} />
      <Text size="sm" className="numbers">
        {said}
      </Text>
    </div>
  )
}

function Gpus({ node: { gpus, processes } }: { node: Node }) {
  return gpus.map(({ index, name, memory, used, used_by }) => (
    <Text key={index} size="sm" c="dimmed">
      GPU {index}: {name}, {formatBytes(memory)}, {used === 0 ? "free" : `${formatPercent(used, 0)} used by `}
      {processes
        .filter(({ id }) => used_by.includes(id))
        .map(({ id, job_id, job, label }, place) => (
          <span key={id}>
            {place > 0 && ", "}
            <Anchor component={Link} to={`/jobs/${job_id}`} inherit underline="always">
              {job} {label}
            </Anchor>
          </span>
        ))}
    </Text>
  ))
}
