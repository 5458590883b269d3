import { Histogram } from "@/charts/Histogram"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useSeries } from "@/hooks/useJobHistory"
import { histogram } from "@/lib/histogram"
import { paletteIndex, seriesLabels } from "@/lib/lines"

export function StalenessHistogram() {
  const series = useSeries("train/staleness")
  const labels = seriesLabels(series.data)
  const counts = histogram(series.data.map(({ points }) => points.map(({ value }) => value)))
  return (
    <Panel title="Distribution of staleness" subtitle="How many pushes were how stale when they were applied">
      <Loaded {...series} isEmpty={counts.bins.length === 0} empty="No push has been applied yet." height={230}>
        <Histogram
          {...counts}
          groups={labels.map((label, position) => ({ label, index: paletteIndex(series.data, position) }))}
          unit="updates"
          label={`Distribution of staleness from ${counts.bins[0]} to ${(counts.bins.at(-1) ?? 0) + counts.width - 1} updates`}
          height={230}
        />
      </Loaded>
    </Panel>
  )
}
