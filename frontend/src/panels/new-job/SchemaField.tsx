import type { ReactNode } from "react"
import { useDraftField } from "@/hooks/useDraft"
import type { Path } from "@/lib/draft"
import { isShown, type Field } from "@/lib/schema"
import { ChoiceField, NumberField, NumberOrWordField, SwitchField, TextField } from "./fields"
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
    case "fixed":
    case "other":
      return null
  }
}

interface NestedProps {
  field: { key: string; label: string; fields: readonly Field[] }
  path: Path
  titled?: boolean
  /** Among the fields around it, for what is a group in the file only. */
  flat?: boolean
}

export function NestedFields({ field, path, titled = false, flat = false }: NestedProps) {
  const { fault, value } = useDraftField(path)
  const shown = field.fields.filter((inner) => isShown(inner, value as Record<string, unknown> | null | undefined))
  return (
    <fieldset className={classes.nested} data-flat={flat || undefined}>
      {titled && <legend>{field.label}</legend>}
      {fault && (
        <p className={classes.fault} role="alert">
          {fault}
        </p>
      )}
      <div className={classes.fields}>
        {shown.map((inner) => (
          <SchemaField key={inner.key} field={inner} path={[...path, inner.key]} />
        ))}
      </div>
    </fieldset>
  )
}
