import { TextInput, UnstyledButton } from "@mantine/core"
import { IconChevronRight, IconSearch } from "@tabler/icons-react"
import { useState } from "react"
import { useDraftWhole, useStrayFaults } from "@/hooks/new-job/useDraft"
import { counted } from "@/lib/format"
import type { Field } from "@/lib/job-file/schema"
import { countChanged, fieldId, hasPlace, matching, moreFields } from "@/lib/job-file/sections"
import { keysOf } from "@/lib/job-file/places"
import { Faults, SchemaField } from "./SchemaField"
import classes from "./SchemaField.module.css"

interface MoreSettingsProps {
  fields: readonly Field[]
  open: boolean
  onOpen: (open: boolean) => void
}

/** All fields of the schema that stand in no section, new ones included. */
export function MoreSettings({ fields, open, onOpen }: MoreSettingsProps) {
  const more = moreFields(fields)
  const { value, marked } = useDraftWhole()
  const strays = useStrayFaults([], fields.map(({ key }) => key))
  const changed = countChanged(more, value)
  const hidden = marked.filter((at) => hasPlace(more, keysOf(at))).length
  return (
    <div>
      <UnstyledButton className={classes.fold} onClick={() => onOpen(!open)} aria-expanded={open}>
        <IconChevronRight size={16} aria-hidden />
        <span>More settings</span>
        <span className={classes.count}>{changed === 0 ? "all at their defaults" : `${counted(changed, "setting")} changed`}</span>
        {hidden > 0 && <span className={classes.marked}>{hidden} to correct or check</span>}
      </UnstyledButton>
      <div id={fieldId([])} tabIndex={-1}>
        <Faults messages={strays} />
      </div>
      {open && <Searched fields={more} />}
    </div>
  )
}

function Searched({ fields }: { fields: readonly Field[] }) {
  const [search, setSearch] = useState("")
  const found = matching(fields, search)
  const single = found.filter(({ kind }) => kind !== "group")
  const groups = found.filter(({ kind }) => kind === "group")
  return (
    <fieldset className={classes.whole} aria-label="More settings">
      <TextInput
        type="search"
        leftSection={<IconSearch size={15} />}
        placeholder="Find a setting by its name or description"
        aria-label="Find a setting"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
      />
      {found.length === 0 && <p className={classes.none}>No match</p>}
      {[single, groups].map((part, at) =>
        part.length === 0 ? null : (
          <div key={at} className={classes.fields}>
            {part.map((field) => (
              <SchemaField key={field.key} field={field} path={[field.key]} />
            ))}
          </div>
        ),
      )}
    </fieldset>
  )
}
