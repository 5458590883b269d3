import { Group, SegmentedControl, Slider, Text } from "@mantine/core"
import { useChartSettings } from "@/hooks/useChartSettings"
import type { Axis } from "@/lib/series"

const AXES: { value: Axis; label: string }[] = [
  { value: "samples", label: "Samples" },
  { value: "step", label: "Steps" },
  { value: "version", label: "Version" },
  { value: "time", label: "Time" },
]

/** How all charts below are drawn. */
export function ChartToolbar() {
  const [{ axis, smoothing }, change] = useChartSettings()
  return (
    <Group mb="md" gap="lg" justify="space-between">
      <Group gap="sm">
        <Text size="sm" c="dimmed" id="axis-label" visibleFrom="xs">
          Over
        </Text>
        <SegmentedControl size="xs" data={AXES} value={axis} onChange={(value) => change({ axis: value })} aria-labelledby="axis-label" />
      </Group>
      <Group gap="sm">
        <Text size="sm" c="dimmed" id="smoothing-label">
          Smoothing
        </Text>
        <Slider
          w={140}
          size="sm"
          min={0}
          max={0.99}
          step={0.01}
          value={smoothing}
          onChange={(value) => change({ smoothing: value })}
          label={(value) => (value === 0 ? "as measured" : value.toFixed(2))}
          thumbProps={{ "aria-labelledby": "smoothing-label" }}
        />
      </Group>
    </Group>
  )
}
