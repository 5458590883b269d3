import { MultiSelect, Select, TextInput } from "@mantine/core"
import { IconSearch } from "@tabler/icons-react"
import type { JobFilters } from "@/hooks/queries/useJobs"
import { useStrategies } from "@/hooks/queries/useStrategies"
import { JOB_STATUSES, readable } from "@/lib/status"
import classes from "./JobFilterBar.module.css"

export function JobFilterBar({ filters, change }: { filters: JobFilters; change: (over: Partial<JobFilters>) => void }) {
  const strategies = useStrategies().data ?? []
  return (
    <search className={classes.bar}>
      <TextInput
        aria-label="Part of the name"
        placeholder="Find by name"
        leftSection={<IconSearch size={16} />}
        value={filters.q}
        onChange={(event) => change({ q: event.currentTarget.value })}
      />
      <MultiSelect
        aria-label="Status"
        placeholder={filters.status.length > 0 ? undefined : "Any status"}
        data={JOB_STATUSES.map((status) => ({ value: status, label: readable(status) }))}
        value={filters.status}
        onChange={(status) => change({ status: status })}
        clearable
      />
      <Select
        aria-label="Strategy"
        placeholder="Any strategy"
        data={strategies.map(({ name }) => name)}
        value={filters.strategy}
        onChange={(strategy) => change({ strategy })}
        clearable
      />
    </search>
  )
}
