import { isScalarDefault, rangeInWords, type Field } from "@/lib/job-file/schema"
import classes from "./SchemaField.module.css"

/** A field's meaning, its values, and the advisor's warning about the present one. */
export function FieldHelp({ field, warning }: { field: Field; warning: string | undefined }) {
  const range = field.kind === "number" ? rangeInWords(field.range) : ""
  const fallback = isScalarDefault(field) && field.kind !== "switch" ? `default ${String(field.default)}` : ""
  const limits = [range, fallback].filter(Boolean).join("; ")
  return (
    <>
      {field.description}
      {limits && (field.description ? ` (${limits})` : limits.replace(/^./, (first) => first.toUpperCase()))}
      {warning && <span className={classes.warning}>{warning}</span>}
    </>
  )
}
