import { Select, type ComboboxItem } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { useState } from "react"
import { useJobsNamed } from "@/hooks/jobs/useJobsNamed"
import { formatMoment } from "@/lib/format"

const TYPED_MS = 250

/** A job other than `own`, found by its name. */
export function OtherJobPicker({ own, value, onChange }: { own: string; value: string | null; onChange: (id: string | null) => void }) {
  const [typed, setTyped] = useState("")
  const [selected, select] = useState<ComboboxItem | null>(null)
  const [q] = useDebouncedValue(typed === selected?.label ? "" : typed, TYPED_MS)
  const { data: found = [] } = useJobsNamed(q)
  const data = found.filter(({ id }) => id !== own).map(({ id, name, created_at }) => ({ value: id, label: `${name}, ${formatMoment(created_at)}` }))
  const shown = value !== null && !data.some((item) => item.value === value) ? [...data, selected ?? { value, label: value.slice(0, 8) }] : data
  const pick = (id: string | null, option: ComboboxItem | null) => {
    select(option)
    onChange(id)
  }
  return (
    <Select
      size="xs" maw={340} aria-label="Job to compare with" placeholder="Select a job" data={shown} searchable clearable nothingFoundMessage="No job of this name"
      value={value} onChange={pick} filter={({ options }) => options}
      searchValue={typed} onSearchChange={setTyped}
    />
  )
}
