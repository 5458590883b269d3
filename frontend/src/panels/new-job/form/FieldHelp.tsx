import { UnstyledButton } from "@mantine/core"
import { useState } from "react"
import { firstSentence, isScalarDefault, rangeInWords, type Field } from "@/lib/job-file/schema"
import classes from "./SchemaField.module.css"

/** A field's meaning, its values, and the advisor's warning about the present one. More than a sentence is shown when it is asked for. */
export function FieldHelp({ field, warning }: { field: Field; warning: string | undefined }) {
  const [first, rest] = firstSentence(field.description)
  const [open, setOpen] = useState(false)
  const range = field.kind === "number" ? rangeInWords(field.range) : ""
  const fallback = isScalarDefault(field) && field.kind !== "switch" ? `default ${String(field.default)}` : ""
  const limits = [range, fallback].filter(Boolean).join("; ")
  return (
    <>
      {first}
      {limits && (first ? ` (${limits})` : limits.replace(/^./, (letter) => letter.toUpperCase()))}
      {rest && (
        <>
          {". "}
          {open && `${rest}. `}
          <UnstyledButton className={classes.more} onClick={() => setOpen(!open)} aria-expanded={open} aria-label={`${open ? "Less" : "More"} about ${field.label}`}>
            {open ? "Less" : "More"}
          </UnstyledButton>
        </>
      )}
      {warning && <span className={classes.warning}>{warning}</span>}
    </>
  )
}
