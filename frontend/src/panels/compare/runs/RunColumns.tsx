import { ActionIcon, Popover } from "@mantine/core"
import { IconColumns3 } from "@tabler/icons-react"
import { ManySelect } from "@/components/inputs/ManySelect"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { fieldChoices, tableFields } from "@/lib/compare/runs"

/** Selects the settings and results that are columns of the table. */
export function RunColumns({ runs: { fields, differing } }: { runs: Runs }) {
  const [{ columns }, change] = useComparison()
  const shown = tableFields(fields, columns, differing).map(({ key }) => key)
  return (
    <Popover position="bottom-end" width={320} withArrow trapFocus>
      <Popover.Target>
        <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label="Columns" title="Columns">
          <IconColumns3 size={15} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <ManySelect
          size="xs" label="Settings and results" data={fieldChoices(fields)} value={shown} searchable clearable clearButtonProps={{ "aria-label": "No columns" }}
          comboboxProps={{ withinPortal: false }} maxDropdownHeight={260} onPick={(pick) => change({ columns: pick(shown) })}
        />
      </Popover.Dropdown>
    </Popover>
  )
}
