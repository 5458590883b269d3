import type { ServerLoad } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useLiveProcesses } from "@/hooks/job/useLiveProcesses"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatBytes, formatCount, formatMoments, formatPercent } from "@/lib/format"
import { describeHolders, isServerless, nameShard } from "@/lib/job/serverless"
import { hasEnded } from "@/lib/status"
import { LoadTable, type Column } from "./LoadTable"

/** The shards and the evaluator of the live attempt. */
export function ServersPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const processes = useLiveProcesses()
  const nothing = useNothing()
  const now = useNow(!hasEnded(job))
  const servers = overview.data?.servers.map((load) => nameShard(load, job)) ?? []
  const subtitle =
    isServerless(job)
      ? `${describeHolders(job, "each worker holds a shard")}.`
      : "The shards and the evaluator of this attempt"
  const columns: Column<ServerLoad>[] = [
    { head: "Entries", cell: ({ step, label }) => (label === "evaluator" ? "–" : formatCount(step)) },
    { head: "Queue", cell: ({ queue }) => formatCount(queue) },
    { head: "Apply", cell: ({ apply }) => formatMoments(apply) },
    { head: "Busy", cell: ({ busy }) => formatPercent(busy, 0) },
    { head: "CPU", cell: ({ cpu }) => formatPercent(cpu, 0) },
    { head: "Memory", cell: ({ memory }) => formatBytes(memory) },
    { head: "Last seen", cell: ({ at }) => formatAgo(at, now) },
  ]
  return (
    <Panel title="Servers" subtitle={subtitle} flush>
      <Loaded {...overview} isEmpty={servers.length === 0} empty={nothing("No shard has reported")}>
        <LoadTable name="Servers" loads={servers} columns={columns} processes={processes} />
      </Loaded>
    </Panel>
  )
}
