import classes from "./Stat.module.css"

/** One number with its name; stands in a <dl>. */
export function Stat({ label, value, note }: { label: string; value: string; note?: string | undefined }) {
  return (
    <div>
      <dt className={classes.label}>{label}</dt>
      <dd className={classes.value}>
        {value}
        {note && <small className={classes.note}> {note}</small>}
      </dd>
    </div>
  )
}
