import { Text } from "@mantine/core"
import type { ReactNode } from "react"
import { Link } from "react-router"
import type { Plan } from "@/client"
import { Panel } from "@/components/page/Panel"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { formatBytes, formatCount, formatMoments, formatNumber, formatPercent } from "@/lib/format"
import { PlannedStart } from "./PlannedStart"
import { SizeEntry } from "./SizeEntry"
import classes from "./PlanPanel.module.css"

/** Plan of the platform for the job, as if it were submitted now. */
export function PlanPanel({ job }: { job: NewJob }) {
  const { data: plan, error } = job.plan
  const shown = job.hasCode && plan
  return (
    <Panel title="Plan" subtitle={shown && !job.ready ? "For the last valid job file" : "Result of submitting now"}>
      {error && !shown && <Text size="sm">{error.message}</Text>}
      {!shown && !error && (
        <Text size="sm" c="dimmed">
          {job.ready ? "Asking the scheduler…" : "Select code and correct the job file to see a plan."}
        </Text>
      )}
      {shown && (
        <div data-testid="plan" className={classes.plan}>
          <PlannedStart start={plan.start} current={job.ready} />
          <dl className={classes.facts}>
            <Fact term="Shards" value={`${plan.shards.count}${plan.shards.sure ? "" : " for now"}`} note={plan.shards.sure ? "" : plan.shards.message} />
            <Fact term="Staleness" value={`${formatNumber(plan.staleness.mean)} on average`} note={plan.staleness.reason} />
            <OfSize plan={plan} />
          </dl>
          <SizeEntry known={plan.size} given={job.size} onSize={job.setSize} />
        </div>
      )}
    </Panel>
  )
}

function OfSize({ plan: { size, traffic, local_share: share, memory, nodes, shards } }: { plan: Plan }) {
  if (!size || !traffic || !memory) return <Fact term="Model" value="size not known" note="No job has trained this workload here yet. Enter its size below, or run gradstream submit --measure." />
  const { parameters, step } = size.size
  const local = share === null ? "" : share === 1 ? " All of it stays within a machine, in shared memory." : ` ${formatPercent(share, 0)} of it stays within a machine, in shared memory.`
  return (
    <>
      <Fact
        term="Model"
        value={`${formatCount(parameters)} parameters${step ? `, ${formatMoments(step)} a mini-batch` : ""}`}
        note={size.job ? <Link to={`/jobs/${size.job}`}>{size.message}</Link> : size.message}
      />
      <Fact term="Push size" value={formatBytes(traffic.push_bytes)} note={`Pull size: ${formatBytes(traffic.pull_bytes)}${rhythm(traffic.pushes)}.`} />
      {traffic.sent_per_second !== null && traffic.received_per_second !== null && (
        <Fact
          term="Each worker"
          value={`sends ${formatBytes(traffic.sent_per_second)}/s, receives ${formatBytes(traffic.received_per_second)}/s`}
          note={`Rates of a worker that never waits.${local}`}
        />
      )}
      <Fact
        term="Memory"
        value={`${formatBytes(memory.worker)} of a worker, ${formatBytes(memory.server / shards.count)} of a shard`}
        note={`Vectors only; activations, data and PyTorch need more.${nodes.map(({ node, gpu, needed, total }) => ` ${node}${gpu === null ? "" : `, GPU ${gpu}`}: ${formatBytes(needed)} of ${formatBytes(total)}.`).join("")}`}
      />
    </>
  )
}

function rhythm(pushes: number | null): string {
  if (pushes === null) return ""
  return pushes === 1 ? "; one of each for every mini-batch" : `; a push every ${formatNumber(1 / pushes)} mini-batches`
}

function Fact({ term, value, note }: { term: string; value: string; note: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>
        {value}
        {note && <span className={classes.note}>{note}</span>}
      </dd>
    </div>
  )
}
