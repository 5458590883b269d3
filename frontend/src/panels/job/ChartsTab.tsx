import { SimpleGrid } from "@mantine/core"
import { useFeed } from "@/hooks/useFeed"
import { ChartToolbar } from "./ChartToolbar"
import { ExchangePanel } from "./ExchangePanel"
import { MetricPanel } from "./MetricPanel"
import { MoreMetrics } from "./MoreMetrics"
import { ShardsPanel } from "./ShardsPanel"
import { StalenessHistogram } from "./StalenessHistogram"

/** The charts of a job. What its evaluator measures is its user's choice, so those are known only from its progress. */
export function ChartsTab() {
  const evaluated = useFeed((feed) => Object.keys(feed.job.progress.eval ?? {}).sort().join(" "))
  const evaluations = evaluated ? evaluated.split(" ").map((key) => `eval/${key}`) : ["eval/accuracy"]
  return (
    <>
      <ChartToolbar />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <MetricPanel name="train/loss" />
        {evaluations.map((name) => (
          <MetricPanel key={name} name={name} />
        ))}
        <MetricPanel name="train/staleness" />
        <StalenessHistogram />
        <MetricPanel name="train/samples_per_second" />
        <ExchangePanel />
        <ShardsPanel />
        <MoreMetrics />
      </SimpleGrid>
    </>
  )
}
