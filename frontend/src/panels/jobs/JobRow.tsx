import { Checkbox } from "@mantine/core"
import type { VirtualItem } from "@tanstack/react-virtual"
import { Link } from "react-router"
import type { JobSummary } from "@/client"
import type { ColumnId, FieldColumn, JobColumn } from "@/lib/jobs/jobColumns"
import type { Values } from "@/lib/jobs/jobPages"
import { isExplained } from "@/lib/status"
import { CELLS, FieldValue } from "./cells"
import classes from "./JobsGrid.module.css"

interface JobRowProps {
  job: JobSummary
  item: VirtualItem
  measure: (element: Element | null) => void
  columns: readonly (JobColumn | FieldColumn)[]
  /** Settings and results of the job. */
  values: Values[string] | undefined
  now: number
  active: boolean
  selected: boolean
  onSelect: (range: boolean) => void
}

export const rowId = (id: string) => `job-${id}`

/** The link reaches over the whole row. Keys work on the grid, so nothing in a row is a stop of the tab key. */
export function JobRow({ job, item, measure, columns, values, now, active, selected, onSelect }: JobRowProps) {
  return (
    <div
      role="row"
      id={rowId(job.id)}
      ref={measure}
      data-index={item.index}
      data-active={active || undefined}
      data-status={job.status}
      aria-rowindex={item.index + 2}
      aria-selected={selected}
      className={classes.row}
      style={{ transform: `translateY(${item.start}px)` }}
    >
      <div role="gridcell" className={classes.select}>
        <Checkbox
          size="xs"
          tabIndex={-1}
          checked={selected}
          aria-label={`Select ${job.name}`}
          onChange={() => undefined}
          onClick={(event) => onSelect(event.shiftKey)}
        />
      </div>
      <div role="gridcell" className={classes.name}>
        <Link to={`/jobs/${job.id}`} tabIndex={-1} title={isExplained(job.status) && job.message ? `${job.name}: ${job.message}` : job.name}>
          {job.name}
        </Link>
        {job.tags.map((tag) => (
          <small key={tag} className={classes.tag}>
            {tag}
          </small>
        ))}
      </div>
      {columns.map(({ id, label, figures, ...column }) => (
        <div role="gridcell" key={id} className={classes.cell} data-column={id} data-figures={figures}>
          <small className={classes.label} aria-hidden>
            {label}
          </small>
          <span className={classes.value}>{"field" in column ? <FieldValue job={job} field={column.field} value={values?.[column.field]} /> : CELLS[id as ColumnId](job, now)}</span>
        </div>
      ))}
    </div>
  )
}
