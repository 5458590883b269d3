import { ActionIcon, Button, Group, Input, TextInput } from "@mantine/core"
import { IconPlus, IconX } from "@tabler/icons-react"
import { useState } from "react"
import type { BundledArgument } from "@/client"
import { useDraftField, useKnownKeys } from "@/hooks/new-job/useDraft"
import { argumentField } from "@/lib/job-file/arguments"
import { pointer, type Path } from "@/lib/job-file/draft"
import { readScalar, writeScalar } from "@/lib/job-file/scalar"
import type { Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { SchemaField } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** Free keys with values: arguments of the workload, environment. A value is read as in YAML: 256 is a number, "256" text. Known keys of
 * a simple type have a field of that type. */
export function MapField({ field, path }: { field: Extract<Field, { kind: "map" }>; path: Path }) {
  const { value, fault, set } = useDraftField(path)
  const known = useKnownKeys(path)
  const typed = known.flatMap((one) => argumentField(one) ?? [])
  const entries = Object.entries((value ?? {}) as Record<string, unknown>).filter(([key]) => !typed.some((one) => one.key === key))
  const unset = known.filter(({ name }) => ![...entries.map(([key]) => key), ...typed.map(({ key }) => key)].includes(name))
  const without = (key: string) => Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== key))
  return (
    <Input.Wrapper className={classes.wide} label={field.label} description={field.description} error={fault} labelElement="div" labelProps={{ className: classes.label }}>
      {typed.length > 0 && (
        <div className={classes.named}>
          {typed.map((one) => (
            <SchemaField key={one.key} field={one} path={[...path, one.key]} />
          ))}
        </div>
      )}
      {entries.map(([key]) => (
        <Entry key={key} name={key} path={[...path, key]} onRemove={() => set(Object.keys(without(key)).length > 0 ? without(key) : undefined)} />
      ))}
      {unset.map((known) => (
        <KnownEntry key={known.name} known={known} path={[...path, known.name]} />
      ))}
      {known.length === 0 && <NewEntry id={fieldId(path)} label={field.label} onAdd={(key) => set({ ...(value as object), [key]: "" })} />}
    </Input.Wrapper>
  )
}

function Entry({ name, path, onRemove }: { name: string; path: Path; onRemove: () => void }) {
  const { value, fault, set } = useDraftField(path)
  return (
    <Group gap="xs" mt={6} wrap="nowrap" align="flex-start">
      <TextInput value={name} readOnly w="40%" aria-label={`Name of ${pointer(path)}`} variant="filled" />
      <TextInput id={fieldId(path)} value={writeScalar(value)} error={fault} flex={1} aria-label={`Value of ${name}`} onChange={(event) => set(readScalar(event.currentTarget.value))} />
      <ActionIcon variant="subtle" color="gray" size="lg" onClick={onRemove} aria-label={`Remove ${name}`}>
        <IconX size={16} />
      </ActionIcon>
    </Group>
  )
}

/** A key that may be set; left empty, the code's own default counts. */
function KnownEntry({ known: { name, annotation, required, literal, default: value }, path }: { known: BundledArgument; path: Path }) {
  const { fault, set } = useDraftField(path)
  const [text, setText] = useState("")
  const take = () => text.trim() !== "" && set(readScalar(text))
  return (
    <Group gap="xs" mt={6} wrap="nowrap" align="flex-start">
      <TextInput value={`${name}: ${annotation}`} readOnly w="40%" aria-label={`Name of ${pointer(path)}`} variant="filled" />
      <TextInput
        id={fieldId(path)}
        value={text}
        error={fault}
        flex={1}
        required={required}
        placeholder={literal ? writeScalar(value) : required ? "" : "the code's default"}
        aria-label={`Value of ${name}`}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={take}
        onKeyDown={(event) => event.key === "Enter" && take()}
      />
    </Group>
  )
}

function NewEntry({ id, label, onAdd }: { id: string; label: string; onAdd: (key: string) => void }) {
  const [key, setKey] = useState("")
  const add = () => {
    if (key.trim() === "") return
    onAdd(key.trim())
    setKey("")
  }
  return (
    <Group gap="xs" mt={6} wrap="nowrap">
      <TextInput
        id={id}
        value={key}
        onChange={(event) => setKey(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && add()}
        placeholder="name"
        w="40%"
        aria-label={`New name in ${label}`}
      />
      <Button variant="subtle" size="sm" leftSection={<IconPlus size={14} />} onClick={add} disabled={key.trim() === ""}>
        Add
      </Button>
    </Group>
  )
}
