import { Paper } from "@mantine/core"
import type { ReactNode } from "react"
import classes from "./Stat.module.css"

interface StatProps {
  label: ReactNode
  value: string
  note?: string | undefined
  detail?: ReactNode
}

/** One number with its name; stands in a <dl>. */
export function Stat(props: StatProps) {
  return (
    <div>
      <Figure {...props} />
    </div>
  )
}

/** One figure of the first row of a page, with its name; stands in a <dl>. */
export function Tile(props: StatProps) {
  return (
    <Paper className={classes.tile}>
      <Figure {...props} />
    </Paper>
  )
}

function Figure({ label, value, note, detail }: StatProps) {
  return (
    <>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value}>
        {value}
        {note && <small className={classes.note}> {note}</small>}
      </dd>
      {detail && <dd className={classes.detail}>{detail}</dd>}
    </>
  )
}
