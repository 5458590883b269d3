import { Menu } from "@mantine/core"
import { IconDownload, IconMathFunction, IconMaximize, IconPin, IconPinnedOff } from "@tabler/icons-react"
import type { RefObject } from "react"
import type { ChartHandle } from "@/charts/line/LineChart"
import { metricExportUrl } from "@/client"
import { ArrangedItems } from "@/components/arrange/ArrangedItems"
import { ChartMenu, ChartToggle } from "@/components/buttons/ChartMenu"
import { scaleOf, toggled, useChartSettings, withScale } from "@/hooks/charts/useChartSettings"
import { useFeed } from "@/hooks/job/useFeed"
import type { Scale } from "@/lib/charts/lines"

interface ChartActionsProps {
  name: string
  title: string
  chart: RefObject<ChartHandle | null>
  table: boolean
  onTable: (table: boolean) => void
}

const SCALES: Record<Scale, string> = { linear: "Linear scale", log: "Logarithmic scale", symlog: "Logarithmic on both sides of 0" }

/** Scale, table and what else can be done with the chart of a metric. */
export function ChartActions({ name, title, ...chart }: ChartActionsProps) {
  const [settings, change] = useChartSettings()
  const scale = scaleOf(name, settings)
  const id = useFeed((feed) => feed.job.id)
  return (
    <ChartMenu
      {...chart}
      title={title}
      file={`${name.replaceAll("/", "-")}-${id.slice(0, 8)}`}
      buttons={
        <ChartToggle icon={IconMathFunction} on={scale === "log"} tip={SCALES[scale]} label={`Logarithmic scale for ${title}`} onClick={() => change((now) => withScale(name, scaleOf(name, now) === "log" ? "linear" : "log", now))} />
      }
      above={<Placed name={name} />}
      below={(["csv", "parquet"] as const).map((format) => (
        <Menu.Item key={format} component="a" href={metricExportUrl(id, name, format)} download leftSection={<IconDownload size={16} />}>
          Every point as {format === "csv" ? "CSV" : "Parquet"}
        </Menu.Item>
      ))}
    />
  )
}

/** Where the chart stands, and on which scale. */
function Placed({ name }: { name: string }) {
  const [settings, change] = useChartSettings()
  const { pinned, full } = settings
  const isPinned = pinned.includes(name)
  const scale = scaleOf(name, settings)
  return (
    <>
      <Menu.Item leftSection={<IconMaximize size={16} />} onClick={() => change({ full: full === name ? null : name })}>
        {full === name ? "Leave full screen" : "Full screen"}
      </Menu.Item>
      <Menu.Item leftSection={isPinned ? <IconPinnedOff size={16} /> : <IconPin size={16} />} onClick={() => change((now) => ({ pinned: toggled(now.pinned, name) }))}>
        {isPinned ? "Unpin" : "Pin to the top"}
      </Menu.Item>
      {(Object.keys(SCALES) as Scale[]).filter((other) => other !== scale).map((other) => (
        <Menu.Item key={other} leftSection={<IconMathFunction size={16} />} onClick={() => change((now) => withScale(name, other, now))}>
          {SCALES[other]}
        </Menu.Item>
      ))}
      <ArrangedItems hide="Hide this chart" />
      <Menu.Divider />
    </>
  )
}
