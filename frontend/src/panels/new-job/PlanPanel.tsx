import { Anchor, Text } from "@mantine/core"
import type { ReactNode } from "react"
import { Link } from "react-router"
import type { Plan, PlannedChange, PlannedTable, PlannedTables } from "@/client"
import { Panel } from "@/components/page/Panel"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { counted, formatBytes, formatCount, formatMoments, formatNumber, formatPercent } from "@/lib/format"
import { memoryOf } from "@/lib/job-file/placement"
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
            <Fact term="Shards" {...shardsOf(plan)} />
            <Fact term="Staleness" value={`${formatNumber(plan.staleness.mean)} on average`} note={plan.staleness.reason} />
            <OfSize plan={plan} />
            {plan.proposal && <Fact term="Fits with" {...changeOf(plan.proposal)} />}
            {plan.tables && <OfTables tables={plan.tables} />}
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
        note={size.job ? <Anchor component={Link} to={`/jobs/${size.job}`} inherit underline="always">{size.message}</Anchor> : size.message}
      />
      <Fact term="Push size" value={formatBytes(traffic.push_bytes)} note={`Pull size: ${formatBytes(traffic.pull_bytes)}${rhythm(traffic.pushes)}.`} />
      {traffic.sent_per_second !== null && traffic.received_per_second !== null && (
        <Fact
          term="Each worker"
          value={`sends ${formatBytes(traffic.sent_per_second)}/s, receives ${formatBytes(traffic.received_per_second)}/s`}
          note={`Rates of a worker that never waits.${local}`}
        />
      )}
      {traffic.machine_bytes !== null && (
        <Fact
          term="Group"
          value={`sends ${formatBytes(traffic.machine_bytes)} to each other machine for a mini-batch`}
          note="A gradient of the same size comes back. gradstream advise says how long that takes."
        />
      )}
      <Fact
        term="Memory"
        value={`${formatBytes(memory.worker)} of a worker${memory.peer === null ? "" : ` in all its processes, ${formatBytes(memory.peer)} of each peer alone`}${memory.machine === null ? "" : `, ${formatBytes(memory.machine)} of its group on each other machine`}${shards.count === 0 ? " with its shard" : `, ${formatBytes(memory.server / shards.count)} of a shard`}`}
        note={`${memory.activations === null ? "Vectors only; activations" : `Vectors only; ${formatBytes(memory.activations)} of activations in each process`}, data and PyTorch need more. ${memoryOf(nodes)}`}
      />
    </>
  )
}

function changeOf({ lines, message }: PlannedChange): { value: ReactNode; note: string } {
  return { value: lines.length === 0 ? "no change that is known" : <pre className={classes.lines}>{lines.join("\n")}</pre>, note: message }
}

function shardsOf({ shards: { count, sure, message } }: Plan): { value: string; note: string } {
  if (count === 0) return { value: "held by the workers", note: message }
  return { value: `${count}${sure ? "" : " for now"}`, note: sure ? "" : message }
}

function OfTables({ tables: { message, items } }: { tables: PlannedTables }) {
  return (
    <>
      <Fact term="Tables" value={items.length === 0 ? "rows not known" : counted(items.length, "table")} note={message} />
      {items.map((table) => (
        <Fact key={table.name} term={`Table ${table.name}`} value={rowsOf(table)} note={[table.message, ...notesOf(table)].join(" ")} />
      ))}
    </>
  )
}

function rowsOf({ rows, server_bytes: bytes }: PlannedTable): string {
  if (rows === null) return "rows not known"
  return `about ${formatCount(rows)} rows${bytes === null ? "" : `, ${formatBytes(bytes)} of each server`}`
}

function notesOf({ push_bytes: push, pull_bytes: pull, cached, cache_bound: bound, full_at_rows: full, full_at_samples: samples }: PlannedTable): string[] {
  const notes = []
  if (push !== null && pull !== null) notes.push(`A mini-batch looks up ${formatBytes(pull)} of rows and pushes ${formatBytes(push)} of gradients.`)
  if (cached !== null) notes.push(`A cache of each worker with bound ${bound} would save about ${formatPercent(cached, 0)} of the looked-up rows.`)
  if (full !== null) notes.push(`Servers are full at ${formatCount(full)} rows${samples === null ? "" : `, about ${formatCount(samples)} examples if keys go on so`}.`)
  return notes
}

function rhythm(pushes: number | null): string {
  if (pushes === null) return ""
  return pushes === 1 ? "; one of each for every mini-batch" : `; a push every ${formatNumber(1 / pushes)} mini-batches`
}

function Fact({ term, value, note }: { term: string; value: ReactNode; note: ReactNode }) {
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
