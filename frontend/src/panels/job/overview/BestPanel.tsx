import type { Overview } from "@/client"
import { Stat } from "@/components/display/Stat"
import { Explained } from "@/components/messages/Explained"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { NONE, counted, formatAccuracy, formatCount, formatDuration, formatNumber } from "@/lib/format"
import { hasEnded } from "@/lib/status"
import classes from "./ProgressPanel.module.css"

const HOW =
  "Samples per second of the job, divided by an estimate for one worker alone. The estimate is the median of the workers' compute and data time, without communication. " +
  "It is shown only if each worker has a processor core or a GPU of its own: a worker that shares a core would be faster alone."

/** The best evaluations, and how much faster than one worker the job is. */
export function BestPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const nothing = useNothing()
  const { best = [], speed = null } = overview.data ?? {}
  return (
    <Panel title={hasEnded(job) ? "Best" : "Best so far"} subtitle="The best evaluations, and the speed against one worker alone">
      <Loaded {...overview} isEmpty={best.length === 0 && !speed} empty={nothing("Nothing has been evaluated")}>
        <dl className={classes.stats} style={{ marginTop: 0 }}>
          {best.map((mark) => (
            <Best key={mark.metric} mark={mark} />
          ))}
          {speed && <Speed speed={speed} />}
        </dl>
      </Loaded>
    </Panel>
  )
}

function Best({ mark: { metric, value, samples, version, attempt, after } }: { mark: Overview["best"][number] }) {
  const { title } = useMetric(metric)
  const shown = metric === "eval/accuracy" ? formatAccuracy(value, 2) : formatNumber(value, 4)
  const when = [`after ${formatNumber(samples)} samples`, after === null ? "" : formatDuration(after), `version ${formatCount(version)}`, attempt > 1 ? `attempt ${attempt}` : ""]
  return <Stat label={title} value={shown} detail={when.filter(Boolean).join(", ")} />
}

function Speed({ speed: { factor, one_alone, samples_per_second, workers, message } }: { speed: NonNullable<Overview["speed"]> }) {
  if (factor === null) return <Stat label={<Explained what="Speed-up" how={HOW} />} value={NONE} detail={message ?? undefined} />
  const rates = `${formatNumber(samples_per_second)} samples/s by ${counted(workers, "worker")}, ${formatNumber(one_alone)} by one alone`
  return <Stat label={<Explained what="Speed-up" how={HOW} />} value={`${formatNumber(factor)} ×`} detail={rates} />
}
