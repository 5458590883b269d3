import { ActionIcon, Group, Menu, Tooltip } from "@mantine/core"
import { IconDots, IconPhoto, IconTable, type Icon } from "@tabler/icons-react"
import { useState, type ReactNode, type RefObject } from "react"
import type { ChartHandle } from "@/charts/line/LineChart"
import { Notice } from "@/components/messages/Notice"
import { saveBlob } from "@/lib/browser/save"

interface ChartMenuProps {
  title: string
  /** Name of what is saved, without its ending. */
  file: string
  chart: RefObject<ChartHandle | null>
  table: boolean
  onTable: (table: boolean) => void
  /** More buttons. */
  buttons?: ReactNode
  /** More items of the menu, above and below the pictures. */
  above?: ReactNode
  below?: ReactNode
}

const REMEDY = { png: "Save it as SVG, or make the window smaller and try again.", svg: "Reload the page and try again." }

/** Menu of every chart: its numbers, and pictures of it. */
export function ChartMenu({ title, file, chart, table, onTable, buttons, above, below }: ChartMenuProps) {
  const [failed, setFailed] = useState<string | null>(null)
  const save = (format: "png" | "svg") => {
    setFailed(null)
    pictureOf(chart.current, format).then(
      (picture) => saveBlob(picture, `${file}.${format}`),
      (error: unknown) => setFailed(error instanceof NoChart ? error.message : `${String(error)}. ${REMEDY[format]}`),
    )
  }
  return (
    <Group gap={4} wrap="nowrap">
      {buttons}
      <ChartToggle icon={IconTable} on={table} tip={table ? "Show the chart" : "Show the table"} label={`Table of ${title}`} onClick={() => onTable(!table)} />
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`More for ${title}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {above}
          {(["png", "svg"] as const).map((format) => (
            <Menu.Item key={format} leftSection={<IconPhoto size={16} />} onClick={() => save(format)}>
              Save as {format.toUpperCase()}
            </Menu.Item>
          ))}
          {below}
        </Menu.Dropdown>
      </Menu>
      {failed !== null && (
        <Notice title={`Could not export ${title}`} onClose={() => setFailed(null)}>
          {failed}
        </Notice>
      )}
    </Group>
  )
}

interface ChartToggleProps {
  icon: Icon
  on: boolean
  tip: string
  label: string
  onClick: () => void
}

export function ChartToggle({ icon: Icon, on, tip, label, onClick }: ChartToggleProps) {
  return (
    <Tooltip label={tip}>
      <ActionIcon variant={on ? "light" : "subtle"} color={on ? "stream" : "gray"} aria-label={label} aria-pressed={on} onClick={onClick}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  )
}

/** The panel shows a message instead of the chart, so there is no picture. */
class NoChart extends Error {}

async function pictureOf(chart: ChartHandle | null, format: "png" | "svg"): Promise<Blob> {
  if (!chart) throw new NoChart("Show the chart instead of its numbers, and wait for its first value.")
  return format === "png" ? chart.png() : chart.svg()
}
