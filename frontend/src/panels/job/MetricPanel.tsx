import { ActionIcon, Tooltip } from "@mantine/core"
import { IconMathFunction } from "@tabler/icons-react"
import { useMemo } from "react"
import { LineChart } from "@/charts/LineChart"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useMetric } from "@/hooks/queries/useMetricCatalogue"
import { useChartSettings } from "@/hooks/useChartSettings"
import { useFeed } from "@/hooks/useFeed"
import { useSeries } from "@/hooks/useJobHistory"
import { formatDuration, formatNumber } from "@/lib/format"
import { toLines, type ChartLine } from "@/lib/lines"
import { metricTitle, targetOf } from "@/lib/metrics"

const HEIGHT = 230

/** One metric over the training, a line per worker or source. */
export function MetricPanel({ name }: { name: string }) {
  const metric = useMetric(name)
  const series = useSeries(name)
  const [{ axis, smoothing, log }, change] = useChartSettings()
  const job = useFeed((feed) => feed.job)
  const origin = Date.parse(job.started_at ?? job.created_at) / 1000
  const lines = useMemo(() => toLines(series.data, axis, smoothing, origin), [series.data, axis, smoothing, origin])
  const logarithmic = log.includes(name)
  const title = metricTitle(name)
  const unit = metric.unit === "1" || metric.unit === "loss" ? "" : metric.unit
  return (
    <Panel
      title={title}
      subtitle={[metric.meaning, unit].filter(Boolean).join(" · ")}
      actions={
        <Tooltip label={logarithmic ? "Linear scale" : "Logarithmic scale"}>
          <ActionIcon
            variant={logarithmic ? "light" : "subtle"}
            color={logarithmic ? "stream" : "gray"}
            aria-label={`Logarithmic scale for ${title}`}
            aria-pressed={logarithmic}
            onClick={() => change({ log: logarithmic ? log.filter((other) => other !== name) : [...log, name] })}
          >
            <IconMathFunction size={16} />
          </ActionIcon>
        </Tooltip>
      }
    >
      <Loaded {...series} isEmpty={lines.length === 0} empty="No value has been measured yet." height={HEIGHT}>
        <LineChart
          lines={lines}
          label={`${title}: ${lines.map(inWords).join("; ")}`}
          log={logarithmic}
          formatX={axis === "time" ? formatDuration : formatNumber}
          formatY={formatNumber}
          threshold={targetOf(job.spec, name)}
          syncKey={`${job.id} ${axis}`}
          height={HEIGHT}
        />
      </Loaded>
    </Panel>
  )
}

function inWords({ label, ys }: ChartLine): string {
  return `${label}, ${ys.length} points, latest ${formatNumber(ys.at(-1))}`
}
