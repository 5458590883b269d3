import { Select } from "@mantine/core"
import { Panel } from "@/components/Panel"
import { useMetricNames } from "@/hooks/queries/useMetricCatalogue"
import { put, useAddress } from "@/hooks/useAddress"
import { metricTitle } from "@/lib/metrics"
import { MetricPanel } from "./MetricPanel"

const SHOWN_ANYWAY = ["train/loss", "train/staleness", "train/samples_per_second", "train/total_samples"]

/** Any other metric of the catalogue, on demand. */
export function MoreMetrics() {
  const names = useMetricNames().filter((name) => !SHOWN_ANYWAY.includes(name) && !name.startsWith("eval/"))
  const [params, change] = useAddress()
  const chosen = names.find((name) => name === params.get("metric")) ?? null
  const choose = (name: string | null) => change((after) => put(after, "metric", name ?? ""))
  return (
    <>
      <Panel title="More metrics" subtitle="Times, norms, queues and what became of each push" wide>
        <Select
          aria-label="Metric"
          placeholder="Choose a metric to draw"
          data={names.map((name) => ({ value: name, label: metricTitle(name) }))}
          value={chosen}
          onChange={choose}
          maw={420}
          clearable
          searchable
          comboboxProps={{ withinPortal: true }}
        />
      </Panel>
      {chosen && <MetricPanel name={chosen} />}
    </>
  )
}
