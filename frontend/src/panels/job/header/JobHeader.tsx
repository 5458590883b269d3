import { ActionIcon, Anchor, Text, Title } from "@mantine/core"
import { useDocumentTitle } from "@mantine/hooks"
import { IconArrowLeft } from "@tabler/icons-react"
import { Link } from "react-router"
import type { Job } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { ConnectionBadge } from "@/components/display/ConnectionBadge"
import { StatusBadge } from "@/components/display/StatusBadge"
import { Term } from "@/components/messages/Term"
import { useConnection, useFeed } from "@/hooks/job/useFeed"
import { counted, formatMoment } from "@/lib/format"
import { describeStart } from "@/lib/job/startedFrom"
import { readable } from "@/lib/status"
import { Banners } from "./Banners"
import { JobActions } from "./JobActions"
import { EditLabels, Labels } from "./Labels"
import { Pace, ProgressBar } from "./ProgressBar"
import classes from "./JobHeader.module.css"

/** One line: name, state, progress, time left and age. A second one in small print says how the job trains, and whose it is. */
export function JobHeader() {
  const job = useFeed((feed) => feed.job)
  const connection = useConnection()
  useDocumentTitle(`${job.name} · ${readable(job.status)} · Gradstream`)
  return (
    <div>
      <div className={classes.line}>
        <div className={classes.name}>
          <ActionIcon component={Link} to="/jobs" variant="subtle" color="gray" c="dimmed" aria-label="All jobs">
            <IconArrowLeft size={18} />
          </ActionIcon>
          <Title order={1} size="h3" style={{ overflowWrap: "anywhere" }}>
            {job.name}
          </Title>
          <EditLabels job={job} />
        </div>
        <div className={classes.state}>
          <StatusBadge status={job.status} />
          <Pace job={job} />
          <ConnectionBadge connection={connection} />
        </div>
        <JobActions job={job} />
      </div>
      <ProgressBar job={job} />
      <Text component="div" size="xs" c="dimmed" className={classes.about}>
        <Description job={job} /> <CopyIcon value={job.id} what="the job's id" />
      </Text>
      <Start job={job} />
      <Labels job={job} />
      <Banners job={job} />
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
  const { replicate, fsdp, stages, tensor, machines } = group
  const inside = [
    ...(stages > 1 ? [`${stages} stages`] : []),
    ...(tensor > 1 ? [`${tensor} tensor-parallel processes`] : []),
  ]
  const parts = replicate * fsdp
  const replicas = parts > 1 ? [`${parts} ${stages > 1 ? "pipelines" : tensor > 1 ? "replicates" : "processes"}`] : []
  const places = machines > 1 ? ` on ${machines} machines${count > 1 ? " each" : ""}` : ""
  return [counted(count, "worker"), ...(hogwild > 1 ? [`${hogwild} threads`] : [...replicas, ...inside])].join(" of ") + places
}

/** Which model of another job it starts from, pinned when it was submitted. */
function Start({ job: { started_from } }: { job: Job }) {
  if (!started_from) return null
  return (
    <Text size="xs" c="dimmed">
      {`Starts from ${describeStart(started_from)}, of `}
      <Anchor component={Link} to={`/jobs/${started_from.job}`} inherit underline="always">
        {started_from.name}
      </Anchor>
    </Text>
  )
}
