import { Select, type ComboboxItem } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { IconSearch } from "@tabler/icons-react"
import { useState } from "react"
import { useJobsNamed } from "@/hooks/jobs/useJobsNamed"
import { useNow } from "@/hooks/useNow"
import { formatAgo } from "@/lib/format"
import { readable } from "@/lib/status"

/** Finds jobs by name, on the server, and adds what is picked to the comparison. */
export function JobPicker({ selected, onAdd }: { selected: readonly string[]; onAdd: (id: string) => void }) {
  const [typed, setTyped] = useState("")
  const [q] = useDebouncedValue(typed.trim(), 200)
  const { data = [], isFetching } = useJobsNamed(q)
  const now = useNow(false)
  const part = typed.trim().toLowerCase()
  // The list of an earlier text stays until the next response comes. Its jobs that do not fit any more leave at once: else the options would move under a click.
  const fits = ({ id, name }: { id: string; name: string }) => name.toLowerCase().includes(part) || id.startsWith(part)
  const options = data
    .filter((job) => !selected.includes(job.id) && fits(job))
    .map(({ id, name, strategy, status, created_at }) => ({ value: id, label: name, about: `${strategy}, ${readable(status)}, ${formatAgo(created_at, now)}` }))
  return (
    <Select
      aria-label="Add a job"
      placeholder="Add a job by its name"
      leftSection={<IconSearch size={16} />}
      rightSection={<></>}
      data={options}
      filter={({ options }) => options}
      renderOption={({ option }) => (
        <span>
          {option.label} <small>· {(option as ComboboxItem & { about: string }).about}</small>
        </span>
      )}
      value={null}
      searchValue={typed}
      onSearchChange={setTyped}
      onChange={(id) => {
        if (id) onAdd(id)
        setTyped("")
      }}
      nothingFoundMessage={isFetching || q !== typed.trim() ? "Looking…" : "No other job's name contains this."}
      searchable
      maxDropdownHeight={320}
    />
  )
}
