import { Checkbox, TextInput } from "@mantine/core"
import { IconSearch } from "@tabler/icons-react"
import { useRef } from "react"
import { ManySelect } from "@/components/inputs/ManySelect"
import { useJobCounts } from "@/hooks/jobs/useJobs"
import type { Change } from "@/hooks/useAddress"
import { useKeys } from "@/hooks/useKeys"
import { useTyped } from "@/hooks/useTyped"
import type { JobView } from "@/lib/jobs/jobView"
import { JOB_STATUSES, readable } from "@/lib/status"
import classes from "./JobFilterBar.module.css"

/** Options with their counts, and selected ones that no job has. */
function options(counts: Record<string, number> | undefined, selected: readonly string[]): { value: string; label: string }[] {
  const values = new Set([...Object.keys(counts ?? {}).sort(), ...selected])
  return [...values].map((value) => ({ value, label: `${value} (${counts?.[value] ?? 0})` }))
}

export function JobFilterBar({ view, change }: { view: JobView; change: Change<JobView> }) {
  const counts = useJobCounts().data
  const search = useRef<HTMLInputElement>(null)
  const [text, setText] = useTyped(view.q, (q) => change({ q }))
  useKeys("Jobs", [{ keys: ["/"], label: "Search", run: () => search.current?.focus() }])
  const statuses: Partial<Record<string, number>> = counts?.status ?? {}
  return (
    <search className={classes.bar}>
      <TextInput
        ref={search}
        aria-label="Part of the name, or the beginning of the id"
        placeholder="Find by name or id"
        leftSection={<IconSearch size={16} />}
        maxLength={100}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <ManySelect
        aria-label="Status"
        placeholder={view.status.length > 0 ? undefined : "Any status"}
        data={JOB_STATUSES.map((status) => ({ value: status, label: `${readable(status)} (${statuses[status] ?? 0})` }))}
        value={view.status}
        onPick={(pick) => change((now) => ({ status: pick(now.status) }))}
        clearable
      />
      <ManySelect
        aria-label="Strategy"
        placeholder={view.strategy.length > 0 ? undefined : "Any strategy"}
        data={options(counts?.strategy, view.strategy)}
        value={view.strategy}
        onPick={(pick) => change((now) => ({ strategy: pick(now.strategy) }))}
        clearable
      />
      <ManySelect
        aria-label="User"
        placeholder={view.user.length > 0 ? undefined : "Any user"}
        data={options(counts?.user, view.user)}
        value={view.user}
        onPick={(pick) => change((now) => ({ user: pick(now.user) }))}
        clearable
      />
      <ManySelect
        aria-label="Tag"
        placeholder={view.tag.length > 0 ? undefined : "Any tag"}
        data={options(counts?.tag, view.tag)}
        value={view.tag}
        onPick={(pick) => change((now) => ({ tag: pick(now.tag) }))}
        clearable
      />
      {(view.archived || (counts?.archived ?? 0) > 0) && (
        <Checkbox size="xs" mt={10} label={`Archived (${counts?.archived ?? 0})`} checked={view.archived} onChange={(event) => change({ archived: event.currentTarget.checked })} />
      )}
    </search>
  )
}
