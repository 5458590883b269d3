import type { ReactNode } from "react"
import classes from "./Stat.module.css"

/** One number with its name; stands in a <dl>. */
export function Stat({ label, value, note, detail }: { label: ReactNode; value: string; note?: string | undefined; detail?: ReactNode }) {
  return (
    <div>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value}>
        {value}
        {note && <small className={classes.note}> {note}</small>}
      </dd>
      {detail && <dd className={classes.detail}>{detail}</dd>}
    </div>
  )
}
