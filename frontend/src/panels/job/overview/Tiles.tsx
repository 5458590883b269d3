import type { Job, Overview } from "@/client"
import { Tile } from "@/components/display/Stat"
import { Term } from "@/components/messages/Term"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { formatCount, formatNumber } from "@/lib/format"
import { bestOf, formatEvaluated, judgedBy } from "@/lib/job/evaluations"
import { hasEnded } from "@/lib/status"
import classes from "./Tiles.module.css"

/** The four figures that people look for first. */
export function Tiles() {
  const job = useFeed((feed) => feed.job)
  const { speed = null, best = [] } = useOverview(job).data ?? {}
  return (
    <dl className={classes.tiles}>
      <Samples job={job} />
      <Throughput job={job} speed={speed} />
      <Loss job={job} />
      <Evaluation job={job} best={best} />
    </dl>
  )
}

function Samples({ job: { progress } }: { job: Job }) {
  const { samples, total_samples, version } = progress
  const detail = (
    <>
      <Term word="version">Center version</Term> {formatCount(version)}
    </>
  )
  return <Tile label="Samples" value={formatNumber(samples, 4)} note={total_samples ? `of ${formatNumber(total_samples, 4)}` : undefined} detail={detail} />
}

function Throughput({ job, speed }: { job: Job; speed: Overview["speed"] }) {
  const { samples_per_second, mean_samples_per_second } = job.progress
  const [label, rate] = hasEnded(job) ? ["Mean throughput", mean_samples_per_second] : ["Throughput", samples_per_second]
  const detail = typeof speed?.factor === "number" ? `${formatNumber(speed.factor)} × the speed of one worker alone` : undefined
  return <Tile label={label} value={formatNumber(rate)} note={typeof rate === "number" ? "samples/s" : undefined} detail={detail} />
}

function Loss({ job: { progress } }: { job: Job }) {
  const { loss, not_finite: broken, mean_staleness: staleness } = progress
  const detail = (
    <>
      <Term word="staleness">Mean staleness</Term> {formatNumber(staleness)} {typeof staleness === "number" && "updates"}
    </>
  )
  return <Tile label="Training loss" value={broken?.length ? "NaN" : formatNumber(loss)} note={broken?.length ? `of ${workersOf(broken)}` : undefined} detail={detail} />
}

function workersOf(ranks: readonly number[]): string {
  return `${ranks.length === 1 ? "worker" : "workers"} ${ranks.join(", ")}`
}

function Evaluation({ job: { progress }, best }: { job: Job; best: Overview["best"] }) {
  const name = judgedBy(progress.eval ?? {}, progress.main_metric ?? null)
  const { title } = useMetric(`eval/${name}`)
  const nothing = useNothing()
  const top = best.find(({ metric }) => metric === `eval/${name}`)
  if (name === null) return <Tile label="Evaluation" value="–" detail={nothing("Nothing has been evaluated")} />
  return <Tile label={title} value={formatEvaluated(name, progress.eval?.[name])} detail={top && describeBest(name, bestOf(top, progress.eval?.[name]))} />
}

function describeBest(name: string, { value, when }: ReturnType<typeof bestOf>): string {
  return `Best ${formatEvaluated(name, value, 4)} ${when}`
}
