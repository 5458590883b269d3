import type { WorkerLoad } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useLiveProcesses } from "@/hooks/job/useLiveProcesses"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatBytes, formatCount, formatNumber, formatPercent } from "@/lib/format"
import { hasEnded } from "@/lib/status"
import { LoadTable, type Column } from "./LoadTable"

/** The workers of the live attempt: how far, how fast, and what they take of their machines. */
export function WorkersPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const processes = useLiveProcesses()
  const nothing = useNothing()
  const now = useNow(!hasEnded(job))
  const workers = overview.data?.workers ?? []
  const vectors = job.progress.exchange?.raw_bytes === 0 ? "none, vectors are in shared memory" : "vectors only"
  return (
    <Panel title={<Term word="worker">Workers</Term>} subtitle={`This attempt. Clock: pushes made; lag: pushes behind the fastest; sent and received: ${vectors}`} flush>
      <Loaded {...overview} isEmpty={workers.length === 0} empty={nothing("No worker has pushed")}>
        <LoadTable name="Workers" loads={workers} columns={columns(workers, now)} processes={processes} />
      </Loaded>
    </Panel>
  )
}

function columns(workers: readonly WorkerLoad[], now: number): Column<WorkerLoad>[] {
  const shown: Column<WorkerLoad>[] = [
    { head: "Clock", cell: ({ clock }) => formatCount(clock) },
    { head: "Lag", cell: ({ behind }) => formatCount(behind) },
    { head: "Mini-batches", cell: ({ step }) => formatCount(step) },
    { head: "Samples/s", cell: ({ samples_per_second }) => formatNumber(samples_per_second) },
    ...(workers.some(({ slower }) => slower !== null) ? [{ head: "Speed", cell: ({ slower }: WorkerLoad) => (slower ? `${formatNumber(slower, 2)} × slower` : "") }] : []),
    { head: "CPU", cell: ({ cpu }) => formatPercent(cpu, 0) },
    { head: "Memory", cell: ({ memory }) => bytes(memory) },
  ]
  if (workers.some(({ gpu }) => gpu !== null)) {
    shown.push({ head: "GPU", cell: ({ gpu }) => formatPercent(gpu, 0) }, { head: "GPU memory", cell: ({ gpu_memory }) => bytes(gpu_memory) })
  }
  return [
    ...shown,
    { head: "Sent/s", cell: ({ sent_per_second }) => bytes(sent_per_second) },
    { head: "Received/s", cell: ({ received_per_second }) => bytes(received_per_second) },
    { head: "Last seen", cell: ({ at }) => formatAgo(at, now) },
  ]
}

function bytes(count: number | null): string {
  return count === null ? "–" : formatBytes(Math.round(count))
}
