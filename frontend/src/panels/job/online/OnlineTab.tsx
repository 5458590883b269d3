import { SimpleGrid } from "@mantine/core"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import { usePasses } from "@/hooks/job/usePasses"
import { useChartKeys } from "@/hooks/useKeys"
import { ChartToolbar } from "@/panels/job/metrics/ChartToolbar"
import { MetricCard } from "@/panels/job/metrics/MetricCard"
import { PassesPanel } from "./PassesPanel"

const CHARTS = ["pass/auc", "pass/log_loss", "pass/calibration", "data/behind", "train/auc", "train/log_loss"]

/** Learning from a stream: how good the model was on each pass before it learned from it, and how far workers are behind. */
export function OnlineTab() {
  const passes = usePasses()
  const names = useMetricNames()
  useChartKeys()
  return (
    <>
      <ChartToolbar />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <PassesPanel {...passes} />
        {CHARTS.filter((name) => names.data.includes(name)).map((name) => (
          <MetricCard key={name} name={name} />
        ))}
      </SimpleGrid>
    </>
  )
}
