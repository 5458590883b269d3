import { NumberInput } from "@mantine/core"
import { memo, useState } from "react"
import { Link } from "react-router"
import type { Waiting } from "@/client"
import { useChangePriority } from "@/hooks/platform/useQueue"
import { readable } from "@/lib/status"
import classes from "./WaitingTable.module.css"

interface WaitingRowProps {
  job: Waiting
  index: number
  /** Pixels from the top of the list. */
  start: number
  submitted: string
  measure: (element: Element | null) => void
  /** Its id while it has the focus, then null. */
  onFocused: (id: string | null) => void
}

/** Drawn again when something in it changes, not at every poll. */
export const WaitingRow = memo(function WaitingRow({ job, index, start, submitted, measure, onFocused }: WaitingRowProps) {
  return (
    <div
      role="row"
      ref={measure}
      data-index={index}
      aria-rowindex={index + 2}
      className={classes.row}
      style={{ transform: `translateY(${start}px)` }}
      onFocus={() => onFocused(job.id)}
      onBlur={() => onFocused(null)}
    >
      <div role="cell" className={classes.cell} data-label="Place">
        {job.position}
      </div>
      <div role="cell" className={classes.name}>
        <Link to={`/jobs/${job.id}`}>{job.name}</Link>
        <small>{job.user}</small>
      </div>
      <div role="cell" className={classes.reason}>
        {job.message}
        {job.reason && <small>{readable(job.reason)}</small>}
      </div>
      <div role="cell" className={classes.cell} data-label="Workers">
        {job.workers} <small>{job.device}</small>
      </div>
      <div role="cell" className={classes.cell} data-label="Priority">
        <Priority job={job} />
      </div>
      <div role="cell" className={classes.cell} data-label="Submitted">
        {submitted}
      </div>
    </div>
  )
})

/** Applied when it is left or confirmed with Enter. No change of another user replaces text that is being typed. */
function Priority({ job }: { job: Waiting }) {
  const change = useChangePriority(job.id)
  const [typed, setTyped] = useState<number | string | null>(null)
  const commit = () => {
    if (typeof typed === "number" && typed !== job.priority) change.mutate(typed)
    setTyped(null)
  }
  return (
    <NumberInput
      size="xs"
      w={84}
      min={0}
      max={100}
      clampBehavior="strict"
      allowDecimal={false}
      aria-label={`Priority of ${job.name}`}
      value={typed ?? (change.isPending ? change.variables : job.priority)}
      onChange={setTyped}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit()
        if (event.key === "Escape") setTyped(null)
      }}
      error={change.error?.message}
    />
  )
}
