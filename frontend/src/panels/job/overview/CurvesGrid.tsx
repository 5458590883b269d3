import { SimpleGrid } from "@mantine/core"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import { useFeed } from "@/hooks/job/useFeed"
import { useChartKeys } from "@/hooks/useKeys"
import { overviewCurves } from "@/lib/job/overview"
import { MetricCard } from "@/panels/job/metrics/MetricCard"

/** How the job learns: the curve of its loss beside that of its evaluation. */
export function CurvesGrid() {
  const main = useFeed(({ job }) => job.progress.main_metric ?? null)
  const curves = overviewCurves(useMetricNames().data, main)
  useChartKeys()
  if (curves.length === 0) return null
  return (
    <SimpleGrid cols={{ base: 1, md: curves.length }} spacing="md">
      {curves.map((name) => (
        <MetricCard key={name} name={name} />
      ))}
    </SimpleGrid>
  )
}
