import { ActionIcon, Button, Group, Input, TagsInput } from "@mantine/core"
import { IconPlus, IconX } from "@tabler/icons-react"
import { useDraftField } from "@/hooks/new-job/useDraft"
import { pointer, type Path } from "@/lib/job-file/draft"
import type { Field } from "@/lib/job-file/schema"
import { fieldId } from "@/lib/job-file/sections"
import { HELP_BELOW } from "./helpBelow"
import { NestedFields } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** A list of groups with the same fields. Their order counts. */
export function ListField({ field, path }: { field: Extract<Field, { kind: "list" }>; path: Path }) {
  const { value, fault, set } = useDraftField(path)
  const items = Array.isArray(value) ? (value as unknown[]) : []
  const without = (at: number) => items.filter((_, number) => number !== at)
  return (
    <Input.Wrapper className={classes.wide} label={field.label} description={field.description} error={fault} labelElement="div" labelProps={{ className: classes.label }}>
      {items.map((_, number) => (
        <Group key={number} gap="xs" mt={6} wrap="nowrap" align="flex-start">
          <NestedFields field={field} path={[...path, number]} />
          <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => set(items.length > 1 ? without(number) : undefined)} aria-label={`Remove ${pointer([...path, number])}`}>
            <IconX size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Button id={fieldId(path)} mt={6} size="compact-sm" variant="default" leftSection={<IconPlus size={14} />} onClick={() => set([...items, {}])}>
        Add to {field.label}
      </Button>
    </Input.Wrapper>
  )
}

/** A list of short texts. */
export function TextsField({ field, path }: { field: Extract<Field, { kind: "texts" }>; path: Path }) {
  const { value, fault, set } = useDraftField(path)
  return (
    <TagsInput
      id={fieldId(path)}
      className={classes.wide}
      inputWrapperOrder={HELP_BELOW}
      label={field.label}
      labelProps={{ className: classes.label }}
      description={field.description}
      error={fault}
      value={Array.isArray(value) ? value.map(String) : []}
      onChange={(texts) => set(texts.length > 0 ? texts : undefined)}
    />
  )
}
