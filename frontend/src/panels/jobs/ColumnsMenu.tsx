import { ActionIcon, Checkbox, Popover, Stack, TagsInput, Tooltip } from "@mantine/core"
import { IconColumns3 } from "@tabler/icons-react"
import { useState } from "react"
import { useJobFields } from "@/hooks/jobs/useJobs"
import { COLUMNS, type ColumnId } from "@/lib/jobs/jobColumns"
import { MOST_FIELDS } from "@/lib/jobs/jobView"

interface ColumnsMenuProps {
  columns: readonly ColumnId[]
  fields: readonly string[]
  onTurn: (id: ColumnId) => void
  onFields: (fields: string[]) => void
}

export function ColumnsMenu({ columns, fields, onTurn, onFields }: ColumnsMenuProps) {
  const [opened, setOpened] = useState(false)
  const known = useJobFields(opened).data
  const results = known?.results ?? []
  const offered = [
    { group: "Results", items: results },
    { group: "Lowest and highest results", items: results.flatMap((name) => [`min:${name}`, `max:${name}`]) },
    { group: "Settings of the job file", items: known?.settings ?? [] },
  ].filter(({ items }) => items.length > 0)
  return (
    <Popover position="bottom-end" width={320} withArrow trapFocus opened={opened} onChange={setOpened}>
      <Popover.Target>
        <Tooltip label="Columns">
          <ActionIcon variant="default" size={30} aria-label="Columns" onClick={() => setOpened(!opened)}>
            <IconColumns3 size={16} />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Stack gap={8}>
          {COLUMNS.map(({ id, label }) => (
            <Checkbox key={id} size="xs" label={label} checked={columns.includes(id)} onChange={() => onTurn(id)} />
          ))}
          <TagsInput
            size="xs" label="Settings and results" placeholder={fields.length > 0 ? undefined : "lr, batch_size, eval/accuracy"} data={offered} value={[...fields]} maxTags={MOST_FIELDS}
            splitChars={[",", " "]} comboboxProps={{ withinPortal: false }} maxDropdownHeight={260} clearable clearButtonProps={{ "aria-label": "Remove these columns" }} onChange={onFields}
          />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
