import { Box, Button, Divider, Popover, SegmentedControl, Stack, Text } from "@mantine/core"
import { IconLayoutGrid, IconPlus } from "@tabler/icons-react"
import { useId, useState } from "react"
import { useComparison } from "@/hooks/compare/useComparison"
import { MOST_PANELS, PANEL_TITLES, panelsToAdd, USUAL_PANELS, withPanel, writePanels, type ComparePanel } from "@/lib/views/comparePanels"

const COLUMNS = ["1", "2", "3"]
/** Settings of a new panel. */
const FIRST: Partial<Record<ComparePanel["kind"], readonly string[]>> = { curve: ["train/loss"], plot: ["seconds", "last", ""] }

/** Adds panels to the comparison, and sets their columns. The new panel is the last one. */
export function PanelsMenu() {
  const [{ panels, gridColumns }, change] = useComparison()
  const [opened, setOpened] = useState(false)
  const id = useId()
  const kinds = panelsToAdd(panels)
  const add = (kind: ComparePanel["kind"]) => {
    change((now) => ({ panels: withPanel(now.panels, kind, FIRST[kind]) }))
    setOpened(false)
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={280} withArrow trapFocus returnFocus>
      <Popover.Target>
        <Button size="xs" variant="default" leftSection={<IconLayoutGrid size={14} />} onClick={() => setOpened((now) => !now)}>
          Panels
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Panels">
        <Stack gap="sm">
          <Box visibleFrom="sm">
            <Text size="xs" c="dimmed" id={`${id}-columns`}>
              Columns
            </Text>
            <SegmentedControl fullWidth size="xs" aria-labelledby={`${id}-columns`} data={COLUMNS} value={String(gridColumns)} onChange={(value) => change({ gridColumns: Number(value) })} />
          </Box>
          <div>
            <Text size="xs" c="dimmed">
              {kinds.length > 0 ? "Add a panel at the end" : `${MOST_PANELS} panels is the most. Remove one to add another.`}
            </Text>
            <Stack gap={2}>
              {kinds.map((kind) => (
                <Button key={kind} size="compact-xs" variant="subtle" justify="flex-start" leftSection={<IconPlus size={12} />} onClick={() => add(kind)}>
                  {PANEL_TITLES[kind]}
                </Button>
              ))}
            </Stack>
          </div>
          {(writePanels(panels) !== "" || gridColumns !== 1) && (
            <>
              <Divider />
              <Button size="xs" variant="default" onClick={() => change({ panels: USUAL_PANELS, gridColumns: 1 })}>
                Reset the panels
              </Button>
            </>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
