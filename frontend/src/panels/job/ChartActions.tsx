import { ActionIcon, Group, Menu, Tooltip } from "@mantine/core"
import { IconDots, IconDownload, IconMathFunction, IconMaximize, IconPhoto, IconPin, IconPinnedOff, IconTable, type Icon } from "@tabler/icons-react"
import type { RefObject } from "react"
import type { ChartHandle } from "@/charts/LineChart"
import { metricExportUrl } from "@/client"
import { scaleOf, useChartSettings, withScale } from "@/hooks/useChartSettings"
import { useFeed } from "@/hooks/useFeed"
import type { Scale } from "@/lib/lines"
import { saveBlob } from "@/lib/save"

interface ChartActionsProps {
  name: string
  title: string
  chart: RefObject<ChartHandle | null>
  table: boolean
  onTable: (table: boolean) => void
}

const SCALES: Record<Scale, string> = { linear: "Linear scale", log: "Logarithmic scale", symlog: "Logarithmic on both sides of 0" }

/** Scale, table and what else can be done with one chart. */
export function ChartActions({ name, title, chart, table, onTable }: ChartActionsProps) {
  const [settings, change] = useChartSettings()
  const scale = scaleOf(name, settings)
  const id = useFeed((feed) => feed.job.id)
  const { pinned, full } = settings
  const isPinned = pinned.includes(name)
  const file = `${name.replaceAll("/", "-")}-${id.slice(0, 8)}`
  return (
    <Group gap={4} wrap="nowrap">
      <Toggle icon={IconMathFunction} on={scale === "log"} tip={SCALES[scale]} label={`Logarithmic scale for ${title}`} onClick={() => change(withScale(name, scale === "log" ? "linear" : "log", settings))} />
      <Toggle icon={IconTable} on={table} tip={table ? "Show the chart" : "Show the numbers"} label={`Numbers of ${title}`} onClick={() => onTable(!table)} />
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`More for ${title}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconMaximize size={16} />} onClick={() => change({ full: full === name ? null : name })}>
            {full === name ? "Leave full screen" : "Full screen"}
          </Menu.Item>
          <Menu.Item leftSection={isPinned ? <IconPinnedOff size={16} /> : <IconPin size={16} />} onClick={() => change({ pinned: isPinned ? pinned.filter((other) => other !== name) : [...pinned, name] })}>
            {isPinned ? "Unpin" : "Pin to the top"}
          </Menu.Item>
          {(Object.keys(SCALES) as Scale[]).filter((other) => other !== scale).map((other) => (
            <Menu.Item key={other} leftSection={<IconMathFunction size={16} />} onClick={() => change(withScale(name, other, settings))}>
              {SCALES[other]}
            </Menu.Item>
          ))}
          <Menu.Divider />
          {!table && (
            <>
              <Menu.Item leftSection={<IconPhoto size={16} />} onClick={() => void chart.current?.png().then((blob) => saveBlob(blob, `${file}.png`))}>
                Save as PNG
              </Menu.Item>
              <Menu.Item leftSection={<IconPhoto size={16} />} onClick={() => chart.current && saveBlob(chart.current.svg(), `${file}.svg`)}>
                Save as SVG
              </Menu.Item>
            </>
          )}
          {(["csv", "parquet"] as const).map((format) => (
            <Menu.Item key={format} component="a" href={metricExportUrl(id, name, format)} download leftSection={<IconDownload size={16} />}>
              Every point as {format === "csv" ? "CSV" : "Parquet"}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Group>
  )
}

function Toggle({ icon: Icon, on, tip, label, onClick }: { icon: Icon; on: boolean; tip: string; label: string; onClick: () => void }) {
  return (
    <Tooltip label={tip}>
      <ActionIcon variant={on ? "light" : "subtle"} color={on ? "stream" : "gray"} aria-label={label} aria-pressed={on} onClick={onClick}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  )
}
