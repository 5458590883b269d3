import { Button, SegmentedControl, Select, Slider, Text } from "@mantine/core"
import { IconZoomReset } from "@tabler/icons-react"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useCatalogue } from "@/hooks/charts/useMetricCatalogue"
import type { ComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Scale } from "@/lib/charts/lines"
import { entryOf } from "@/lib/charts/metrics"
import { COMPARE_AXES } from "@/lib/compare/axes"
import type { Spread } from "@/lib/compare/curves"
import classes from "./CompareToolbar.module.css"

const SCALES: { value: Scale; label: string }[] = [
  { value: "linear", label: "Linear" },
  { value: "log", label: "Log" },
  { value: "symlog", label: "Log ±" },
]
const SPREADS: { value: Spread; label: string }[] = [
  { value: "range", label: "Lowest to highest" },
  { value: "deviation", label: "Standard deviation" },
]

/** Selects the metric, the axis and the groups of the charts. `paths`: fields of the job files that jobs can be grouped by. */
export function CompareToolbar({ metric, paths }: { metric: ComparedMetric; paths: readonly string[] }) {
  const [{ axis, group, spread, scale, smoothing }, change] = useComparison()
  const board = useBoard()
  const catalogue = useCatalogue()
  const zoomed = useRestingRange() !== null
  const groups = [...new Set([...(group === null ? [] : [group]), ...paths])]
  return (
    <div className={classes.bar}>
      <Select
        size="xs" label="Metric" data={metric.names.map((name) => ({ value: name, label: entryOf(catalogue, name).title }))} value={metric.name} allowDeselect={false} searchable
        onChange={(name) => name && change({ metric: name, target: null, direction: null })}
      />
      <Select size="xs" label="X axis" data={COMPARE_AXES} value={axis} allowDeselect={false} onChange={(value) => value && change({ axis: value })} />
      <Select size="xs" label="Group by" placeholder="Each job alone" data={groups} value={group} clearable searchable clearButtonProps={{ "aria-label": "Do not group" }} onChange={(value) => change({ group: value })} />
      {group !== null && (
        <Select size="xs" label="Band" data={SPREADS} value={spread} allowDeselect={false} onChange={(value) => value && change({ spread: value })} />
      )}
      <div>
        <Text size="xs" fw={500} id="compare-scale">
          Scale
        </Text>
        <SegmentedControl size="xs" data={SCALES} value={scale} onChange={(value) => change({ scale: value })} aria-labelledby="compare-scale" />
      </div>
      <div className={classes.smoothing}>
        <Text size="xs" fw={500} id="compare-smoothing">
          Smoothing
        </Text>
        <Slider
          size="sm" min={0} max={0.99} step={0.01} value={smoothing} onChange={(value) => change({ smoothing: value })}
          label={(value) => (value === 0 ? "as measured" : value.toFixed(2))} thumbProps={{ "aria-labelledby": "compare-smoothing" }}
        />
      </div>
      {zoomed && (
        <Button size="compact-xs" variant="light" leftSection={<IconZoomReset size={14} />} onClick={() => board.set(null)}>
          Show all
        </Button>
      )}
    </div>
  )
}
