import { Alert, Text } from "@mantine/core"
import { IconAlertTriangle, IconClock, IconInfoCircle } from "@tabler/icons-react"
import type { Job } from "@/client"
import { useFeed } from "@/hooks/job/useFeed"
import { bannerOf } from "@/lib/job/reasons"
import { readable, toneOf } from "@/lib/status"
import { LastWords } from "./LastWords"
import classes from "./Banners.module.css"

/** Everything that a reader must know before the figures: why the job waits or failed, and its alerts. */
export function Banners({ job }: { job: Job }) {
  const gone = useFeed((feed) => feed.gone)
  return (
    <>
      {gone && <Alert mt="sm" color="yellow" variant="light" icon={<IconInfoCircle />} title="This job has been deleted" />}
      <Reason job={job} />
      {job.progress.alerts?.map((alert) => (
        <Alert key={alert} mt="sm" color="yellow" variant="light" icon={<IconAlertTriangle />}>
          {alert}
        </Alert>
      ))}
    </>
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
    <Alert
      mt="sm" variant="light" color={failed ? "red" : status === "queued" ? "yellow" : "gray"} icon={<Icon />} classNames={{ body: classes.body }}
      title={status === "cancelled" ? undefined : title(reason, position)}
    >
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
