import type { ReactNode } from "react"
import { useDraftField, useStrayFaults } from "@/hooks/new-job/useDraft"
import { fieldId, pick, type Choice } from "@/lib/job-file/sections"
import type { Field } from "@/lib/job-file/schema"
import { Faults, SchemaField } from "./SchemaField"
import classes from "./SchemaField.module.css"

interface SectionProps {
  title: string
  fields: readonly Field[]
  choices: readonly Choice[]
  /** Groups of the file that stand in this section without a frame: their own mistakes stand above its fields. */
  groups?: readonly string[]
  children?: ReactNode
}

/** Some fields of the job file, wherever they stand in it. */
export function Section({ title, fields, choices, groups = [], children }: SectionProps) {
  return (
    <fieldset className={classes.group} aria-label={title}>
      {groups.map((key) => (
        <GroupFaults key={key} group={fields.find((field) => field.key === key)} />
      ))}
      <div className={classes.fields} data-columns={choices.length > 4 ? 4 : 2}>
        {pick(fields, choices).map(({ field, path }) => (
          <SchemaField key={path.join(".")} field={field} path={path} />
        ))}
      </div>
      {children}
    </fieldset>
  )
}

function GroupFaults({ group }: { group: Field | undefined }) {
  const path = group ? [group.key] : []
  const { fault, warning } = useDraftField(path)
  const strays = useStrayFaults(path, group?.kind === "group" ? group.keys : [])
  const messages = [...(typeof fault === "string" ? [fault] : []), ...strays]
  if (!group || (messages.length === 0 && !warning)) return null
  return (
    <div id={fieldId(path)} tabIndex={-1}>
      <Faults messages={messages} />
      {warning && <p className={classes.warning}>{warning}</p>}
    </div>
  )
}
