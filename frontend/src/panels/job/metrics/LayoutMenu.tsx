import { Button, Divider, Group, Popover, SegmentedControl, Slider, Stack, Switch, Text } from "@mantine/core"
import { IconLayoutGrid } from "@tabler/icons-react"
import { useId } from "react"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { useCatalogue } from "@/hooks/charts/useMetricCatalogue"
import type { UsedLayout } from "@/hooks/views/useChartLayout"
import { entryOf } from "@/lib/charts/metrics"
import { LEAST_HEIGHT, MOST_HEIGHT, USUAL_LAYOUT } from "@/lib/views/chartLayout"

const COLUMNS = [{ value: "", label: "Auto" }, ...["1", "2", "3", "4"].map((value) => ({ value, label: value }))]

interface LayoutMenuProps {
  used: UsedLayout
  height: number
  onHeight: (height: number, done: boolean) => void
}

/** Columns, height and hidden charts: for all jobs of the user, and shared by link. */
export function LayoutMenu({ used, height, onHeight }: LayoutMenuProps) {
  const { layout, change } = used
  const id = useId()
  const hidden = layout.hidden.length
  return (
    <Popover position="bottom-end" width={320} withArrow trapFocus>
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconLayoutGrid size={14} />}>
          Layout{hidden > 0 && `, ${hidden} hidden`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm">
          <div>
            <Text size="xs" c="dimmed" id={`${id}-columns`}>
              Columns
            </Text>
            <SegmentedControl
              fullWidth size="xs" aria-labelledby={`${id}-columns`} data={COLUMNS} value={layout.columns === null ? "" : String(layout.columns)}
              onChange={(value) => change(() => ({ columns: value === "" ? null : Number(value) }))}
            />
          </div>
          <div>
            <Text size="xs" c="dimmed" id={`${id}-height`}>
              Height of the charts, {height} pixels
            </Text>
            <Slider
              size="sm" mx={6} min={LEAST_HEIGHT} max={MOST_HEIGHT} step={10} value={height} label={null} thumbProps={{ "aria-labelledby": `${id}-height` }}
              onChange={(value) => onHeight(value, false)} onChangeEnd={(value) => onHeight(value, true)}
            />
          </div>
          {hidden > 0 && <HiddenCharts used={used} />}
          <Divider />
          <Group justify="space-between" wrap="nowrap" mih={28}>
            <Switch size="xs" label="Share this layout by link" checked={used.own?.shared ?? false} onChange={({ currentTarget: { checked } }) => change((now) => now, checked)} />
            {used.own?.shared && used.own.id && <CopyIcon value={linkTo(used.own.id)} what="the link to this layout" />}
          </Group>
          <Button size="xs" variant="default" onClick={() => change(() => USUAL_LAYOUT)}>
            Reset the layout
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function HiddenCharts({ used: { layout, change } }: { used: UsedLayout }) {
  const catalogue = useCatalogue()
  return (
    <div>
      <Text size="xs" c="dimmed">
        Hidden charts
      </Text>
      <Stack gap={2} mah={180} style={{ overflowY: "auto" }}>
        {layout.hidden.map((name) => (
          <Button key={name} size="compact-xs" variant="subtle" justify="flex-start" onClick={() => change((now) => ({ hidden: now.hidden.filter((each) => each !== name) }))}>
            Show {entryOf(catalogue, name).title}
          </Button>
        ))}
      </Stack>
    </div>
  )
}

/** The same tab with this layout, for anyone who is signed in. */
function linkTo(id: string): string {
  return `${window.location.origin}${window.location.pathname}?layout=${id}`
}
