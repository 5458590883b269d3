import { Button, Group, SegmentedControl, Select, Slider, Text } from "@mantine/core"
import { IconZoomReset } from "@tabler/icons-react"
import { useId } from "react"
import { useSamplesPerEpoch } from "@/hooks/charts/useAxisView"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useChartSettings, type ChartSettings } from "@/hooks/charts/useChartSettings"
import { useFeed } from "@/hooks/job/useFeed"
import { AXES } from "@/lib/charts/axes"
import { MANY } from "@/lib/charts/mean"

const LINES: { value: ChartSettings["lines"]; label: string }[] = [{ value: "mean", label: "Mean and range" }, { value: "each", label: "Each worker" }]

/** How all charts below are drawn. Stands twice on the page while one of them fills the screen. */
export function ChartToolbar() {
  const [{ axis, lines, smoothing }, change] = useChartSettings()
  const board = useBoard()
  const id = useId()
  const zoomed = useRestingRange() !== null
  const epochs = useSamplesPerEpoch() !== null
  const many = useFeed(({ job }) => job.spec.roles.worker.count >= MANY)
  const axes = AXES.filter(({ value }) => value !== "epoch" || epochs || axis === "epoch")
  return (
    <Group mb="md" gap="sm" justify="space-between">
      <Group gap="sm">
        <Text size="sm" c="dimmed" id={`${id}-axis`} visibleFrom="xs">
          X axis
        </Text>
        <SegmentedControl size="xs" data={axes} value={axis} onChange={(value) => change({ axis: value })} aria-labelledby={`${id}-axis`} visibleFrom="sm" />
        <Select
          size="xs" w={120} data={axes} value={axis} allowDeselect={false} hiddenFrom="sm" aria-label="X axis"
          onChange={(value) => value && change({ axis: value })}
        />
        {zoomed && (
          <Button size="compact-xs" variant="light" leftSection={<IconZoomReset size={14} />} onClick={() => board.set(null)}>
            Show all
          </Button>
        )}
      </Group>
      <Group gap="sm">
        {many && <SegmentedControl size="xs" aria-label="Lines of the charts" data={LINES} value={lines} onChange={(value) => change({ lines: value })} />}
        <Group gap="sm" wrap="nowrap">
          <Text size="sm" c="dimmed" id={`${id}-smoothing`}>
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
            thumbProps={{ "aria-labelledby": `${id}-smoothing` }}
          />
        </Group>
      </Group>
    </Group>
  )
}
