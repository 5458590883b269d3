import { Select, Text, type ComboboxItem, type OptionsFilter } from "@mantine/core"
import { useDraftField, useStrayFaults } from "@/hooks/new-job/useDraft"
import type { Path } from "@/lib/job-file/draft"
import type { Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { FieldHelp } from "./FieldHelp"
import { HELP_BELOW } from "./helpBelow"
import { NestedFields } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** From so many on, one types what to look for. */
const MANY = 6

type Variants = Extract<Field, { kind: "variants" }>

/** One of several kinds, each with fields of its own: strategy, optimizer, codec. Another kind begins with its own defaults. */
export function VariantsField({ field, path }: { field: Variants; path: Path }) {
  const { value, set, ...said } = useDraftField(path)
  const ofName = useDraftField([...path, field.tag])
  const named = (value as Record<string, unknown> | null | undefined)?.[field.tag]
  const selected = field.variants.find((variant) => variant.value === named)
  const fallback = (field.default as Record<string, string> | null | undefined)?.[field.tag]
  const description = selected && selected.summary !== "" ? selected.summary : field.description
  const hasFields = selected !== undefined && selected.fields.length > 0
  const strays = useStrayFaults(path, [field.tag]).join(" ") // below a kind that is not known, no group has them
  const fault = [said.fault, ofName.fault, hasFields ? "" : strays].find(Boolean)
  const help = { ...field, kind: "other" as const, description, default: undefined }
  return (
    <>
      <Select
        id={fieldId(path)}
        className={hasFields ? classes.wide : undefined}
        inputWrapperOrder={HELP_BELOW}
        label={field.label}
        labelProps={{ className: classes.label }}
        description={<FieldHelp field={help} warning={said.warning ?? ofName.warning} />}
        withAsterisk={field.required}
        error={fault}
        placeholder={fallback ?? "none"}
        data={field.variants.map((variant) => variant.value)}
        searchable={field.variants.length > MANY}
        filter={matching(field)}
        nothingFoundMessage="No match"
        maxDropdownHeight={340}
        renderOption={({ option }) => <Option name={option.value} summary={summaryOf(field, option.value)} />}
        value={selected?.value ?? null}
        onChange={(next) => set(next === null ? undefined : { [field.tag]: next })}
        clearable={!field.required}
        allowDeselect={false}
      />
      {hasFields && <NestedFields field={{ ...field, fields: selected.fields }} path={path} tag={field.tag} />}
    </>
  )
}

function summaryOf(field: Variants, value: string): string {
  return field.variants.find((variant) => variant.value === value)?.summary ?? ""
}

/** Found by its name and by the words of its summary. The text of what is selected hides nothing. */
function matching(field: Variants): OptionsFilter {
  return ({ options, search }) => {
    const words = search.toLowerCase().split(/\s+/)
    const isChoice = field.variants.some(({ value }) => value === search)
    const found = ({ value }: ComboboxItem) => words.every((word) => `${value} ${summaryOf(field, value)}`.toLowerCase().includes(word))
    return isChoice ? options : options.filter((option) => "value" in option && found(option))
  }
}

function Option({ name, summary }: { name: string; summary: string }) {
  return (
    <div>
      <Text size="sm" fw={550}>
        {name}
      </Text>
      {summary && (
        <Text size="xs" c="dimmed">
          {summary}
        </Text>
      )}
    </div>
  )
}
