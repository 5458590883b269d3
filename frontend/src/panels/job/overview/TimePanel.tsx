import { Text } from "@mantine/core"
import type { ReactNode } from "react"
import { StackedBars } from "@/charts/StackedBars"
import type { Overview } from "@/client"
import { Explained } from "@/components/messages/Explained"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { useStragglers } from "@/hooks/job/useStragglers"
import { counted, formatDuration, formatNumber } from "@/lib/format"
import { QUIET, serverBar, SLICES, workerBar } from "@/lib/job/overview"
import { describeHolders, isServerless, nameShard } from "@/lib/job/serverless"
import { hasEnded } from "@/lib/status"
import classes from "./TimePanel.module.css"

const HOW =
  "All bars share one time axis, from the moment when workers could first train to the end of the last worker. Each worker measures its own time, push by push. " +
  "Start is the time before its first push, Recovering the time between two of its processes, Ended the time after its last push. Other is not measured. A shard's bar is the average over its whole run."
const SPEED =
  "Samples per second of the job, divided by an estimate for one worker alone. The estimate is the median of the workers' compute and data time, without communication. " +
  "It is shown only if each worker has a processor core or a GPU of its own: a worker that shares a core would be faster alone."

/** Where the time goes, process by process, whether a worker is slow, and how much faster than one worker the job is. Nothing for a job that ended before it trained. */
export function TimePanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const serverless = isServerless(job)
  const nothing = useNothing()
  const { workers = [], servers = [], seconds = 0, speed = null } = overview.data ?? {}
  const trained = workers.map((worker) => workerBar(worker, seconds)).filter((bar) => bar !== null)
  if (overview.data && trained.length === 0 && hasEnded(job)) return null
  const bars = [...trained, ...servers.map((server) => serverBar(nameShard(server, job), seconds)).filter((bar) => bar !== null)]
  return (
    <Panel title={<Explained what="Time breakdown" how={HOW} />} subtitle={serverless ? "Every worker and shard in this attempt" : "Every worker and server in this attempt"} tour="time">
      <Loaded {...overview} isEmpty={trained.length === 0} empty={nothing("No worker has reported its times")}>
        <StackedBars bars={bars} order={SLICES} quiet={QUIET} />
        <Text size="xs" c="dimmed" mt="xs">
          Every bar is {formatDuration(seconds)} long. The percentage is a worker's share of computing, or a shard's share of applying pushes. Workers wait at
          the gate and for responses while shards apply.{serverless && ` ${describeHolders(job, "worker k holds shard k")}, and applies pushes while it waits.`}
        </Text>
        <Facts speed={speed} />
      </Loaded>
    </Panel>
  )
}

function Facts({ speed }: { speed: Overview["speed"] }) {
  const job = useFeed((feed) => feed.job)
  const { items = [], message = "" } = useStragglers(job).data ?? {}
  return (
    <dl className={classes.facts}>
      {items.length === 0 && message && <Fact name={<Term word="straggler">Stragglers</Term>}>{message}</Fact>}
      {speed && <Fact name={<Explained what="Speed-up" how={SPEED} />}>{describeSpeed(speed)}</Fact>}
    </dl>
  )
}

function Fact({ name, children }: { name: ReactNode; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function describeSpeed({ factor, one_alone, samples_per_second, workers, message }: NonNullable<Overview["speed"]>): string {
  if (factor === null) return message ?? "Not measured."
  return `${formatNumber(factor)} ×: ${formatNumber(samples_per_second)} samples/s by ${counted(workers, "worker")}, ${formatNumber(one_alone)} by one alone`
}
