import { Button } from "@mantine/core"
import { IconArrowsDiff, IconPlayerStop, IconTrash } from "@tabler/icons-react"
import type { ReactNode } from "react"
import { Link } from "react-router"
import type { BulkAction, JobSummary } from "@/client"
import { ConfirmButton } from "@/components/ConfirmButton"
import { useChangeJobs } from "@/hooks/queries/useJobs"
import type { Selection } from "@/hooks/useSelection"
import { consequence, refusals } from "@/lib/bulk"
import classes from "./SelectionBar.module.css"

/** What can be done to the chosen jobs; it asks once for all of them, and says afterwards what was refused. */
export function SelectionBar({ chosen, selection }: { chosen: readonly JobSummary[]; selection: Selection }) {
  const change = useChangeJobs()
  const refused = refusals(change.data ?? [])
  if (chosen.length === 0 && refused.length === 0) return null
  const run = async (action: BulkAction) => {
    const items = await change.mutateAsync({ action, ids: chosen.map(({ id }) => id) })
    selection.drop(new Set(items.flatMap(({ id, done }) => (done ? [id] : []))))
  }
  const button = (action: BulkAction, label: string, icon: ReactNode) => {
    const { question, does, nothing } = consequence(action, chosen)
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
    <div className={classes.bar} role="region" aria-label="Chosen jobs">
      <span role="status">{chosen.length} chosen</span>
      {chosen.length > 1 && (
        <Button size="xs" variant="default" component={Link} to={`/compare?jobs=${chosen.map(({ id }) => id).join()}`} leftSection={<IconArrowsDiff size={14} />}>
          Compare
        </Button>
      )}
      {button("stop", "Stop", <IconPlayerStop size={14} />)}
      {button("delete", "Delete", <IconTrash size={14} />)}
      <Button
        size="xs"
        variant="subtle"
        onClick={() => {
          selection.all(false)
          change.reset()
        }}
      >
        {chosen.length > 0 ? "Choose none" : "Close"}
      </Button>
      {refused.map((sentence) => (
        <p key={sentence} className={classes.refused} role="alert">
          {sentence}
        </p>
      ))}
    </div>
  )
}
