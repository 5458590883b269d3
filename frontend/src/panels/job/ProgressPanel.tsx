import { Progress, Text } from "@mantine/core"
import type { Job } from "@/client"
import { Panel } from "@/components/Panel"
import { Stat } from "@/components/Stat"
import { useFeed } from "@/hooks/useFeed"
import { formatCount, formatDuration, formatNumber, formatPercent } from "@/lib/format"
import { secondsLeft, share } from "@/lib/progress"
import { Timeline } from "./Timeline"
import classes from "./ProgressPanel.module.css"

export function ProgressPanel() {
  const job = useFeed((feed) => feed.job)
  const { samples, total_samples, version, samples_per_second, loss, mean_staleness, eval: evaluation } = job.progress
  return (
    <Panel>
      <Timeline job={job} />
      <Bar job={job} />
      <dl className={classes.stats}>
        <Stat label="Samples" value={formatNumber(samples, 4)} note={total_samples ? `of ${formatNumber(total_samples, 4)}` : undefined} />
        <Stat label="Throughput" value={formatNumber(samples_per_second)} note="samples/s" />
        <Stat label="Training loss" value={formatNumber(loss)} />
        {Object.entries(evaluation ?? {}).map(([key, value]) => (
          <Stat key={key} label={`Eval ${key}`} value={key === "accuracy" ? formatPercent(value) : formatNumber(value)} />
        ))}
        <Stat label="Mean staleness" value={formatNumber(mean_staleness)} note="updates" />
        <Stat label="Center version" value={formatCount(version)} />
      </dl>
    </Panel>
  )
}

function Bar({ job }: { job: Job }) {
  const done = share(job)
  const left = secondsLeft(job)
  if (done === null) return null
  return (
    <div className={classes.bar}>
      <Progress value={done * 100} aria-label="Progress of the training" animated={job.status === "running"} size="md" flex={1} />
      <Text size="sm" className="numbers" fw={600}>
        {formatPercent(done, 0)}
      </Text>
      {left !== null && (
        <Text size="sm" c="dimmed" className="numbers">
          {formatDuration(left)} left
        </Text>
      )}
    </div>
  )
}
