import { Switch } from "@mantine/core"
import { useDraftField } from "@/hooks/new-job/useDraft"
import type { Path } from "@/lib/job-file/draft"
import type { Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { NestedFields } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** A group that may be absent: a gate, a target. */
export function OptionalGroup({ field, path }: { field: Extract<Field, { kind: "group" }>; path: Path }) {
  const { value, fault, set } = useDraftField(path)
  const present = value !== undefined && value !== null
  return (
    <>
      <Switch
        id={present ? undefined : fieldId(path)}
        className={present ? classes.wide : undefined}
        label={`Set ${field.label}`}
        description={field.description || undefined}
        error={present ? undefined : fault}
        checked={present}
        onChange={(event) => set(event.currentTarget.checked ? {} : undefined)}
      />
      {present && <NestedFields field={field} path={path} />}
    </>
  )
}
