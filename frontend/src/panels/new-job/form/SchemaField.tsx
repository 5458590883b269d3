import type { ReactNode } from "react"
import { useDraftField, useStrayFaults } from "@/hooks/new-job/useDraft"
import type { Path } from "@/lib/job-file/draft"
import { isShown, type Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { ChoiceField, NumberField, NumberOrWordField, SwitchField, TextField } from "./fields"
import { ListField, TextsField } from "./ListField"
import { MapField } from "./MapField"
import { OptionalGroup } from "./OptionalGroup"
import { VariantsField } from "./VariantsField"
import classes from "./SchemaField.module.css"

/** The part of the form for one field of the schema, with all that is below it. */
export function SchemaField({ field, path }: { field: Field; path: Path }): ReactNode {
  switch (field.kind) {
    case "text":
    case "duration":
      return <TextField field={field} path={path} />
    case "number":
      return <NumberField field={field} path={path} />
    case "numberOrWord":
      return <NumberOrWordField field={field} path={path} />
    case "switch":
      return <SwitchField field={field} path={path} />
    case "choice":
      return <ChoiceField field={field} path={path} />
    case "variants":
      return <VariantsField field={field} path={path} />
    case "group":
      return field.optional ? <OptionalGroup field={field} path={path} /> : <NestedFields field={field} path={path} titled />
    case "map":
      return <MapField field={field} path={path} />
    case "list":
      return <ListField field={field} path={path} />
    case "texts":
      return <TextsField field={field} path={path} />
    case "fixed":
    case "other":
      return null
  }
}

interface NestedProps {
  field: { key: string; label: string; fields: readonly Field[]; keys?: readonly string[]; isPart?: boolean }
  path: Path
  titled?: boolean
  /** The key that says which kind it is: its field, and what is said of the whole, stand elsewhere. */
  tag?: string
}

export function NestedFields({ field, path, titled = false, tag }: NestedProps) {
  const { fault, warning, value } = useDraftField(path)
  const strays = useStrayFaults(path, [...(field.keys ?? field.fields.map(({ key }) => key)), ...(tag ? [tag] : [])])
  const messages = field.isPart ? [] : [...(typeof fault === "string" && !tag ? [fault] : []), ...strays]
  const shown = field.fields.filter((inner) => isShown(inner, value as Record<string, unknown> | null | undefined))
  return (
    <fieldset className={classes.nested} id={tag || field.isPart ? undefined : fieldId(path)} tabIndex={-1}>
      {titled && <legend>{field.label}</legend>}
      <Faults messages={messages} />
      {warning && !tag && !field.isPart && <p className={classes.warning}>{warning}</p>}
      <div className={classes.fields}>
        {shown.map((inner) => (
          <SchemaField key={inner.key} field={inner} path={[...path, inner.key]} />
        ))}
      </div>
    </fieldset>
  )
}

export function Faults({ messages }: { messages: readonly string[] }) {
  return messages.map((message) => (
    <p key={message} className={classes.fault} role="alert">
      {message}
    </p>
  ))
}
