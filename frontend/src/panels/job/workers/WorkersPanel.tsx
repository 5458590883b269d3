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
  const grouped = workers.some(({ peers }) => peers.length > 0) ? "; computes: share of the compute time, the rest waits for other processes of the group" : ""
  return (
    <Panel title={<Term word="worker">Workers</Term>} subtitle={`This attempt. Clock: pushes made; lag: pushes behind the fastest; sent and received: ${vectors}${grouped}`} flush>
      <Loaded {...overview} isEmpty={workers.length === 0} empty={nothing("No worker has pushed")}>
        <LoadTable name="Workers" loads={workers} columns={columns(workers, now)} processes={processes} />
      </Loaded>
    </Panel>
  )
}

/** The mean over the processes of a group, and each. */
const COMPUTES: Column<WorkerLoad> = {
  head: "Computes",
  cell: ({ peers }) => formatPercent(mean(peers.flatMap(({ compute }) => compute ?? [])), 0),
  peerCell: ({ compute }) => formatPercent(compute, 0),
}

function mean(values: readonly number[]): number | null {
  return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null
}

function columns(workers: readonly WorkerLoad[], now: number): Column<WorkerLoad>[] {
  const shown: Column<WorkerLoad>[] = [
    { head: "Clock", cell: ({ clock }) => formatCount(clock) },
    { head: "Lag", cell: ({ behind }) => formatCount(behind) },
    { head: "Mini-batches", cell: ({ step }) => formatCount(step) },
    { head: "Samples/s", cell: ({ samples_per_second }) => formatNumber(samples_per_second) },
    ...(workers.some(({ slower }) => slower !== null) ? [{ head: "Speed", cell: ({ slower }: WorkerLoad) => (slower ? `${formatNumber(slower, 2)} × slower` : "") }] : []),
    ...(workers.some(({ peers }) => peers.length > 0) ? [COMPUTES] : []),
    { head: "CPU", cell: ({ cpu }) => formatPercent(cpu, 0), peerCell: ({ cpu }) => formatPercent(cpu, 0) },
    { head: "Memory", cell: ({ memory }) => formatBytes(memory), peerCell: ({ memory }) => formatBytes(memory) },
  ]
  if (workers.some(({ gpu }) => gpu !== null)) {
    shown.push({ head: "GPU", cell: ({ gpu }) => formatPercent(gpu, 0) }, { head: "GPU memory", cell: ({ gpu_memory }) => formatBytes(gpu_memory) })
  }
  return [
    ...shown,
    { head: "Sent/s", cell: ({ sent_per_second }) => wholeBytes(sent_per_second) },
    { head: "Received/s", cell: ({ received_per_second }) => wholeBytes(received_per_second) },
    { head: "Last seen", cell: ({ at }) => formatAgo(at, now), peerCell: ({ at }) => formatAgo(at, now) },
  ]
}

function wholeBytes(count: number | null): string {
  return formatBytes(count && Math.round(count))
}
