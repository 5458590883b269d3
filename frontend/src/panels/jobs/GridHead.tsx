import { Checkbox, Tooltip, UnstyledButton } from "@mantine/core"
import { IconArrowDown, IconArrowUp } from "@tabler/icons-react"
import type { JobSort } from "@/client"
import { GLOSSARY, type Word } from "@/lib/glossary"
import type { FieldColumn, JobColumn } from "@/lib/jobs/jobColumns"
import classes from "./JobsGrid.module.css"

export interface Order {
  sort: JobSort
  /** A setting or result, instead of `sort`. */
  by: string | null
  descending: boolean
}

interface GridHeadProps {
  columns: readonly (JobColumn | FieldColumn)[]
  order: Order
  onOrder: (order: Order) => void
  selected: "all" | "some" | "none"
  onSelectAll: (on: boolean) => void
}

export function GridHead({ columns, order, onOrder, selected, onSelectAll }: GridHeadProps) {
  return (
    <div role="rowgroup" className={classes.head}>
      <div role="row" aria-rowindex={1} className={classes.titles}>
        <div role="columnheader" className={classes.select}>
          <Checkbox
            size="xs"
            aria-label="Select all loaded jobs"
            checked={selected === "all"}
            indeterminate={selected === "some"}
            onChange={(event) => onSelectAll(event.currentTarget.checked)}
          />
        </div>
        <Title label="Job" sort="name" order={order} onOrder={onOrder} />
        {columns.map((column) => (
          <Title key={column.id} {...column} order={order} onOrder={onOrder} />
        ))}
      </div>
    </div>
  )
}

interface TitleProps {
  label: string
  sort?: JobSort
  field?: string
  descending?: boolean
  figures?: boolean
  term?: Word
  order: Order
  onOrder: (order: Order) => void
}

function Title({ label, sort, field, descending = false, figures, term, order, onOrder }: TitleProps) {
  if (!sort && !field) return <div role="columnheader" data-figures={figures}>{label}</div>
  const sorted = field ? order.by === field : order.by === null && order.sort === sort
  // By age, the newest has the greatest time and the least age.
  const up = sort === "created" ? order.descending : !order.descending
  const Arrow = up ? IconArrowUp : IconArrowDown
  return (
    <div role="columnheader" data-figures={figures} aria-sort={sorted ? (up ? "ascending" : "descending") : undefined}>
      <Tooltip label={term ? GLOSSARY[term] : field} disabled={!term && !field}>
        <UnstyledButton className={classes.title} data-term={term} onClick={() => onOrder({ sort: sort ?? "created", by: field ?? null, descending: sorted ? !order.descending : descending })}>
          {label}
          {sorted && <Arrow size={13} aria-hidden />}
        </UnstyledButton>
      </Tooltip>
    </div>
  )
}
