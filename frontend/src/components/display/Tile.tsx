import { Paper } from "@mantine/core"
import type { ReactNode } from "react"
import classes from "./Tile.module.css"

/** One figure of the first row of a page, with its name; stands in a <dl>. */
export function Tile({ label, value, note, detail }: { label: ReactNode; value: string; note?: string | undefined; detail?: ReactNode }) {
  return (
    <Paper className={classes.tile}>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value}>
        {value}
        {note && <small className={classes.note}> {note}</small>}
      </dd>
      {detail && <dd className={classes.detail}>{detail}</dd>}
    </Paper>
  )
}
