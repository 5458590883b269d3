/** Fields for single values. Each writes what was given, or removes its key when emptied, so that the default counts. */
import { NumberInput, Select, Switch, TextInput } from "@mantine/core"
import { useDraftField } from "@/hooks/useDraft"
import type { Path } from "@/lib/draft"
import type { Field } from "@/lib/schema"
import classes from "./SchemaField.module.css"

interface FieldProps<K extends Field["kind"]> {
  field: Extract<Field, { kind: K }>
  path: Path
}

function shared({ label, description, required }: Field, fault: string | undefined) {
  return { label, description: description || undefined, withAsterisk: required, error: fault, labelProps: { className: classes.label } }
}

function isScalar(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value)
}

function placeholder(field: Field, otherwise = ""): string {
  return isScalar(field.default) ? String(field.default) : otherwise
}

export function TextField({ field, path }: FieldProps<"text" | "duration">) {
  const { value, fault, set } = useDraftField(path)
  const example = field.kind === "text" ? (field.example ?? "") : "such as 30s, 5m, 2h"
  return (
    <TextInput
      {...shared(field, fault)}
      placeholder={placeholder(field, example)}
      value={isScalar(value) ? String(value) : ""}
      onChange={(event) => {
        const text = event.currentTarget.value
        set(text === "" ? undefined : field.kind === "duration" && /^\d+(\.\d+)?$/.test(text) ? Number(text) : text)
      }}
    />
  )
}

export function NumberField({ field, path }: FieldProps<"number">) {
  const { value, fault, set } = useDraftField(path)
  return (
    <NumberInput
      {...shared(field, fault)}
      placeholder={placeholder(field)}
      value={typeof value === "number" ? value : typeof value === "string" ? value : ""}
      onChange={(next) => next !== value && set(next === "" ? undefined : next)}
      allowDecimal={!field.integer}
      step={field.integer ? 1 : 0.01}
      hideControls={!field.integer}
    />
  )
}

export function SwitchField({ field, path }: FieldProps<"switch">) {
  const { value, fault, set } = useDraftField(path)
  const { label, description, error } = shared(field, fault)
  return (
    <Switch
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
  const { value, fault, set } = useDraftField(path)
  return (
    <Select
      {...shared(field, fault)}
      placeholder={placeholder(field, "default")}
      data={field.options}
      value={typeof value === "string" ? value : null}
      onChange={(next) => set(next ?? undefined)}
      clearable={!field.required}
    />
  )
}
