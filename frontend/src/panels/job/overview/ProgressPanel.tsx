import { Stat } from "@/components/display/Stat"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { formatAccuracy, formatCount, formatNumber } from "@/lib/format"
import { hasEnded } from "@/lib/status"
import { Timeline } from "./Timeline"
import classes from "./ProgressPanel.module.css"

function workersOf(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? "worker" : "workers"} ${ranks.join(", ")}`
}

export function ProgressPanel() {
  const job = useFeed((feed) => feed.job)
  const { samples, total_samples, version, samples_per_second, mean_samples_per_second, loss, not_finite, mean_staleness, eval: evaluation } = job.progress
  const [title, throughput] = hasEnded(job) ? ["Mean throughput", mean_samples_per_second] : ["Throughput", samples_per_second]
  return (
    <Panel>
      <Timeline job={job} />
      <dl className={classes.stats}>
        <Stat label="Samples" value={formatNumber(samples, 4)} note={total_samples ? `of ${formatNumber(total_samples, 4)}` : undefined} />
        <Stat label={title} value={formatNumber(throughput)} note="samples/s" />
        <Stat label="Training loss" value={not_finite?.length ? "NaN" : formatNumber(loss)} note={not_finite?.length ? `of ${workersOf(not_finite)}` : undefined} />
        {Object.entries(evaluation ?? {}).map(([key, value]) => (
          <Stat key={key} label={`Eval ${key}`} value={key === "accuracy" ? formatAccuracy(value) : formatNumber(value)} />
        ))}
        <Stat label={<Term word="staleness">Mean staleness</Term>} value={formatNumber(mean_staleness)} note="updates" />
        <Stat label={<Term word="version">Center version</Term>} value={formatCount(version)} />
      </dl>
    </Panel>
  )
}
