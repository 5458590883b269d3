/** Fields for single values. Each writes what was given, or removes its key when emptied, so that the default counts. */
import { Autocomplete, Checkbox, NumberInput, Select, Switch, TextInput } from "@mantine/core"
import { useState } from "react"
import { useDraftField, type Said } from "@/hooks/new-job/useDraft"
import type { Path } from "@/lib/job-file/draft"
import { numberOrText } from "@/lib/job-file/scalar"
import type { Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { FieldHelp } from "./FieldHelp"
import { HELP_BELOW } from "./helpBelow"
import classes from "./SchemaField.module.css"

interface FieldProps<K extends Field["kind"]> {
  field: Extract<Field, { kind: K }>
  path: Path
}

function shared(field: Field, path: Path, { fault, warning }: Said) {
  const description = <FieldHelp field={field} warning={warning} />
  return { id: fieldId(path), label: field.label, description, withAsterisk: field.required, error: fault, labelProps: { className: classes.label }, inputWrapperOrder: HELP_BELOW }
}

function isScalar(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value)
}

function placeholder(field: Field, otherwise = ""): string {
  return isScalar(field.default) ? String(field.default) : otherwise
}

export function TextField({ field, path }: FieldProps<"text" | "duration">) {
  const { value, set, ...said } = useDraftField(path)
  const typed = useTyped(value)
  const example = field.kind === "text" ? (field.example ?? "") : "such as 30s, 5m, 2h"
  const change = (text: string) => set(field.kind === "duration" ? typed.read(text) : text === "" ? undefined : text)
  return (
    <TextInput
      {...shared(field, path, said)}
      placeholder={placeholder(field, example)}
      value={field.kind === "duration" ? typed.text : isScalar(value) ? String(value) : ""}
      onChange={(event) => change(event.currentTarget.value)}
    />
  )
}

/** A number, or one of a few words: the share that an average takes, or "uniform". */
export function NumberOrWordField({ field, path }: FieldProps<"numberOrWord">) {
  const { value, set, ...said } = useDraftField(path)
  const typed = useTyped(value)
  return (
    <Autocomplete
      {...shared(field, path, said)}
      placeholder={placeholder(field, "none")}
      data={field.words}
      filter={({ options }) => options}
      value={typed.text}
      onChange={(text) => set(typed.read(text))}
      clearable
    />
  )
}

/** The text of a number stays as it is typed, so that the zeros of 0.001 can be written one by one. */
function useTyped(value: unknown) {
  const [last, setLast] = useState("")
  return {
    text: isScalar(value) ? (numberOrText(last) === value ? last : String(value)) : "",
    read: (text: string) => {
      setLast(text)
      return numberOrText(text)
    },
  }
}

export function NumberField({ field, path }: FieldProps<"number">) {
  const { value, set, ...said } = useDraftField(path)
  const input = (
    <NumberInput
      {...shared(field, path, said)}
      placeholder={value === null ? "none" : placeholder(field)}
      disabled={field.none !== undefined && value === null}
      value={typeof value === "number" ? value : typeof value === "string" ? value : ""}
      onChange={(next) => next !== value && set(next === "" ? undefined : next)}
      allowDecimal={!field.integer}
      step={field.integer ? 1 : 0.01}
      hideControls={!field.integer}
    />
  )
  if (field.none === undefined) return input
  return (
    <div>
      {input}
      <Checkbox
        size="xs"
        mt={6}
        label={`None: ${field.none}`}
        aria-label={`No ${field.label}`}
        checked={value === null}
        onChange={(event) => set(event.currentTarget.checked ? null : undefined)}
      />
    </div>
  )
}

export function SwitchField({ field, path }: FieldProps<"switch">) {
  const { value, set, ...said } = useDraftField(path)
  const { id, label, description, error } = shared(field, path, said)
  return (
    <Switch
      id={id}
      label={label}
      description={description}
      error={error}
      checked={Boolean(value ?? field.default)}
      onChange={(event) => set(event.currentTarget.checked === field.default ? undefined : event.currentTarget.checked)}
      classNames={{ label: classes.label! }}
      mt={4}
    />
  )
}

export function ChoiceField({ field, path }: FieldProps<"choice">) {
  const { value, set, ...said } = useDraftField(path)
  return (
    <Select
      {...shared(field, path, said)}
      placeholder={placeholder(field, "default")}
      data={field.options}
      value={typeof value === "string" ? value : null}
      onChange={(next) => set(next ?? undefined)}
      clearable={!field.required}
    />
  )
}
