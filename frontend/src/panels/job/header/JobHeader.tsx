import { Alert, Anchor, Group, Text, Title } from "@mantine/core"
import { useDocumentTitle } from "@mantine/hooks"
import { IconAlertTriangle, IconClock, IconInfoCircle } from "@tabler/icons-react"
import { Link } from "react-router"
import type { Job } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { ConnectionBadge } from "@/components/display/ConnectionBadge"
import { StatusBadge } from "@/components/display/StatusBadge"
import { Term } from "@/components/messages/Term"
import { useConnection, useFeed } from "@/hooks/job/useFeed"
import { counted, formatMoment } from "@/lib/format"
import { bannerOf } from "@/lib/job/reasons"
import { describeStart } from "@/lib/job/startedFrom"
import { readable, toneOf } from "@/lib/status"
import { JobActions } from "./JobActions"
import { EditLabels, Labels } from "./Labels"
import { LastWords } from "./LastWords"
import { ProgressBar } from "./ProgressBar"

export function JobHeader() {
  const job = useFeed((feed) => feed.job)
  const gone = useFeed((feed) => feed.gone)
  const connection = useConnection()
  useDocumentTitle(`${job.name} · ${readable(job.status)} · Gradstream`)
  return (
    <div>
      <Anchor component={Link} to="/jobs" size="sm">
        ← All jobs
      </Anchor>
      <Group justify="space-between" align="flex-start" mt={4} gap="sm">
        <div style={{ minWidth: 0 }}>
          <Group gap="sm">
            <Title order={1} style={{ overflowWrap: "anywhere" }}>
              {job.name}
            </Title>
            <EditLabels job={job} />
            <StatusBadge status={job.status} />
            <ConnectionBadge connection={connection} />
          </Group>
          <Text component="div" size="sm" c="dimmed">
            <Description job={job} /> <CopyIcon value={job.id} what="the job's id" />
          </Text>
          <Start job={job} />
          <Labels job={job} />
        </div>
        <JobActions job={job} />
      </Group>
      <ProgressBar job={job} />
      {gone && <Alert mt="sm" color="yellow" variant="light" icon={<IconInfoCircle />} title="This job has been deleted" />}
      <Reason job={job} />
      {job.progress.alerts?.map((alert) => (
        <Alert key={alert} mt="sm" color="yellow" variant="light" icon={<IconAlertTriangle />}>
          {alert}
        </Alert>
      ))}
    </div>
  )
}

function Description({ job: { strategy, gate, shards, spec, user, created_at } }: { job: Job }) {
  return (
    <>
      {strategy} under <Term word="gate">{gate}</Term> · {describeWorkers(spec.roles.worker)}, <Term word="shard">{counted(shards, "shard")}</Term> · submitted by {user},{" "}
      {formatMoment(created_at)}
    </>
  )
}

function describeWorkers({ count, hogwild, group }: Job["spec"]["roles"]["worker"]): string {
  const { replicate, fsdp, stages, tensor } = group
  const inside = stages > 1 ? [`${stages} stages`] : tensor > 1 ? [`${tensor} tensor-parallel processes`] : []
  const parts = replicate * fsdp
  const replicas = parts > 1 ? [`${parts} ${stages > 1 ? "pipelines" : tensor > 1 ? "replicates" : "processes"}`] : []
  return [counted(count, "worker"), ...(hogwild > 1 ? [`${hogwild} threads`] : [...replicas, ...inside])].join(" of ")
}

/** Which model of another job it starts from, pinned when it was submitted. */
function Start({ job: { started_from } }: { job: Job }) {
  if (!started_from) return null
  return (
    <Text size="sm" c="dimmed">
      {`Starts from ${describeStart(started_from)}, of `}
      <Anchor component={Link} to={`/jobs/${started_from.job}`} inherit underline="always">
        {started_from.name}
      </Anchor>
    </Text>
  )
}

/** Why it waits, or how it ended: never a bare status. */
function Reason({ job }: { job: Job }) {
  const { status, reason, position } = job
  const message = bannerOf(job)
  if (!message) return null
  const failed = toneOf(status) === "bad"
  const Icon = failed ? IconAlertTriangle : status === "queued" ? IconClock : IconInfoCircle
  return (
    <Alert mt="sm" variant="light" color={failed ? "red" : status === "queued" ? "yellow" : "gray"} icon={<Icon />} title={status === "cancelled" ? undefined : title(reason, position)}>
      <Text size="sm" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {message}
      </Text>
      {failed && <LastWords />}
    </Alert>
  )
}

function title(reason: string | null, position: number | null): string | undefined {
  const words = [reason && readable(reason), position !== null && `number ${position} in the queue`].filter(Boolean).join(", ")
  return words ? words[0]!.toUpperCase() + words.slice(1) : undefined
}
