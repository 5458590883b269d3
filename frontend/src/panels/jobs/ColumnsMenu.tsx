import { ActionIcon, Checkbox, Popover, Stack, Tooltip } from "@mantine/core"
import { IconColumns3 } from "@tabler/icons-react"
import { COLUMNS, type ColumnId } from "@/lib/jobs/jobColumns"

export function ColumnsMenu({ columns, onTurn }: { columns: readonly ColumnId[]; onTurn: (id: ColumnId) => void }) {
  return (
    <Popover position="bottom-end" withArrow trapFocus>
      <Popover.Target>
        <Tooltip label="Columns">
          <ActionIcon variant="default" size={36} aria-label="Columns">
            <IconColumns3 size={18} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Stack gap={8}>
          {COLUMNS.map(({ id, label }) => (
            <Checkbox key={id} size="xs" label={label} checked={columns.includes(id)} onChange={() => onTurn(id)} />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
