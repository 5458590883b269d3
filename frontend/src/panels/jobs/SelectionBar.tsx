import { Button } from "@mantine/core"
import { IconArrowsDiff, IconPlayerStop, IconTrash } from "@tabler/icons-react"
import { useState, type ReactNode } from "react"
import { Link } from "react-router"
import type { BulkAction, JobSummary } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { useChangeJobs } from "@/hooks/jobs/useJobs"
import type { Selection } from "@/hooks/jobs/useSelection"
import { consequence, labelled, outcome, refusals, selected } from "@/lib/jobs/bulk"
import { ArchiveButton } from "./ArchiveButton"
import { TagButton } from "./TagButton"
import classes from "./SelectionBar.module.css"

interface SelectionBarProps {
  selectedJobs: readonly JobSummary[]
  /** How many jobs the list has, with those that have not been read yet. */
  total: number
  selection: Selection
  /** The button that selects the rest. */
  children: ReactNode
}

/** Changes the selected jobs after one question, and says then what was done and what was refused. */
export function SelectionBar({ selectedJobs, total, selection, children }: SelectionBarProps) {
  const change = useChangeJobs()
  const [done, setDone] = useState("")
  const refused = refusals(change.data ?? [])
  if (selectedJobs.length === 0 && refused.length === 0 && !done) return null
  const run = async (action: BulkAction) => {
    const items = await change.mutateAsync({ action, ids: selectedJobs.map(({ id }) => id) })
    setDone(outcome(action, items, selectedJobs))
    selection.drop(new Set(items.flatMap(({ id, done }) => (done ? [id] : []))))
  }
  const label = async (action: "add_tags" | "remove_tags", tags: string[]) => {
    const items = await change.mutateAsync({ action, tags, ids: selectedJobs.map(({ id }) => id) })
    setDone(labelled(action, tags, items))
  }
  const button = (action: BulkAction, label: string, icon: ReactNode) => {
    const { question, does, nothing } = consequence(action, selectedJobs)
    return (
      <ConfirmButton
        label={label}
        size="xs"
        variant="default"
        leftSection={icon}
        disabled={nothing}
        question={question}
        consequence={does}
        onConfirm={() => run(action)}
        pending={change.isPending}
        error={change.error}
      />
    )
  }
  return (
    <div className={classes.bar} role="region" aria-label="Selected jobs">
      <span role="status" className="numbers">
        {[done, selectedJobs.length > 0 && selected(selectedJobs.length, total)].filter(Boolean).join(" ")}
      </span>
      {selectedJobs.length > 0 && children}
      {selectedJobs.length > 1 && (
        <Button size="xs" variant="default" component={Link} to={`/compare?jobs=${selectedJobs.map(({ id }) => id).join()}`} leftSection={<IconArrowsDiff size={14} />}>
          Compare
        </Button>
      )}
      {selectedJobs.length > 0 && <TagButton selectedJobs={selectedJobs} onChange={label} pending={change.isPending} error={change.error} />}
      {selectedJobs.length > 0 && <ArchiveButton selectedJobs={selectedJobs} run={run} pending={change.isPending} />}
      {selectedJobs.length > 0 && button("stop", "Stop", <IconPlayerStop size={14} />)}
      {selectedJobs.length > 0 && button("delete", "Delete", <IconTrash size={14} />)}
      <Button
        size="xs"
        variant="subtle"
        onClick={() => {
          selection.all(false)
          setDone("")
          change.reset()
        }}
      >
        {selectedJobs.length > 0 ? "Clear selection" : "Close"}
      </Button>
      {refused.map((sentence) => (
        <p key={sentence} className={classes.refused} role="alert">
          {sentence}
        </p>
      ))}
    </div>
  )
}
