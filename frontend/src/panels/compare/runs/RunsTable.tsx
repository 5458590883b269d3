import { ActionIcon, Anchor, UnstyledButton, useComputedColorScheme } from "@mantine/core"
import { IconArrowDown, IconArrowUp, IconEye, IconEyeOff, IconX } from "@tabler/icons-react"
import { useMemo, type MouseEvent } from "react"
import { Link } from "react-router"
import { seriesColor } from "@/charts/palette"
import { StatusBadge } from "@/components/display/StatusBadge"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { groupPlaces, type Compared } from "@/lib/compare/groups"
import { NAME, sortedRuns, tableFields, valueText, type RunField } from "@/lib/compare/runs"
import { fieldLabel } from "@/lib/jobs/jobColumns"
import classes from "./RunsTable.module.css"

/** Titles of columns that the page says in full elsewhere. */
const SHORT: Partial<Record<string, string>> = { last: "Last", best: "Best" }

/** One row per job. Point at a row, or focus in it, to see its line stand out; a click keeps it so. */
export function RunsTable({ runs }: { runs: Runs }) {
  const [{ order, group, columns }, change] = useComparison()
  const { all, fields, differing } = runs
  const descending = order?.startsWith("-") ?? false
  const by = order?.replace(/^-/, "") ?? null
  const shown = tableFields(fields, columns, differing)
  const sortedBy = by === NAME.key ? NAME : (fields.find(({ key }) => key === by) ?? null)
  const places = useMemo(() => groupPlaces(all, group), [all, group])
  const sort = (key: string) => change({ order: by !== key ? key : descending ? null : `-${key}` })
  return (
    <table className={classes.table} aria-label="Compared jobs">
      <thead>
        <tr>
          <th scope="col">
            <span className={classes.unseen}>Drawn</span>
          </th>
          {[NAME, ...shown].map((field) => (
            <Title key={field.key} field={field} sorted={field.key === by ? (descending ? "descending" : "ascending") : "none"} onSort={() => sort(field.key)} />
          ))}
          <th scope="col">
            <span className={classes.unseen}>Remove</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {sortedRuns(all, sortedBy, descending).map((run) => (
          <Row key={run.job.id} run={run} fields={shown} index={places.get(run.job.id)!} runs={runs} />
        ))}
      </tbody>
    </table>
  )
}

function Title({ field, sorted, onSort }: { field: RunField; sorted: "ascending" | "descending" | "none"; onSort: () => void }) {
  const Arrow = sorted === "descending" ? IconArrowDown : IconArrowUp
  return (
    <th scope="col" aria-sort={sorted} data-figures={field !== NAME || undefined}>
      <UnstyledButton className={classes.title} title={field.label} onClick={onSort}>
        {SHORT[field.key] ?? (field.group === "Settings" ? fieldLabel(field.label) : field.label)}
        {sorted !== "none" && <Arrow size={12} aria-hidden />}
      </UnstyledButton>
    </th>
  )
}

function Row({ run, fields, index, runs }: { run: Compared; fields: readonly RunField[]; index: number; runs: Runs }) {
  const [{ off, pick }, change] = useComparison()
  const { job, label } = run
  const isOn = !off.includes(job.id)
  const color = seriesColor(index, useComputedColorScheme("light"))
  const toggle = () => change((now) => ({ pick: now.pick === job.id ? null : job.id }))
  const turn = () => change((now) => ({ off: now.off.includes(job.id) ? now.off.filter((id) => id !== job.id) : [...now.off, job.id] }))
  const remove = () => change((now) => ({ jobs: now.jobs.filter((id) => id !== job.id), off: now.off.filter((id) => id !== job.id), ...(now.pick === job.id && { pick: null }) }))
  const Eye = isOn ? IconEye : IconEyeOff
  return (
    <tr
      className={classes.row} data-drawn={runs.drawn.includes(run)} data-stands-out={runs.standsOut === job.id || undefined}
      onClick={(event) => isOnControl(event) || toggle()} onPointerEnter={() => runs.point(job.id)} onPointerLeave={() => runs.point(null)}
      onFocus={() => runs.point(job.id)} onBlur={() => runs.point(null)}
    >
      <td>
        <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label={`Draw ${label}`} aria-pressed={isOn} onClick={turn}>
          <Eye size={15} />
        </ActionIcon>
      </td>
      <th scope="row">
        <span className={classes.name}>
          <UnstyledButton className={classes.dot} aria-label={`Highlight ${label}`} aria-pressed={pick === job.id} onClick={toggle}>
            <i style={{ background: color }} aria-hidden />
          </UnstyledButton>
          <Anchor component={Link} to={`/jobs/${job.id}`} c="inherit" fw={550} fz="inherit" title={label}>
            {label}
          </Anchor>
        </span>
        {job.status !== "succeeded" && <StatusBadge status={job.status} />}
      </th>
      {fields.map((field) => (
        <td key={field.key} data-figures>
          {valueText(field, run)}
        </td>
      ))}
      <td>
        <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label={`Remove ${label}`} onClick={remove}>
          <IconX size={14} />
        </ActionIcon>
      </td>
    </tr>
  )
}

function isOnControl({ target }: MouseEvent): boolean {
  return (target as Element).closest("a, button") !== null
}
