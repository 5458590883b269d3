import { Select } from "@mantine/core"
import { useDraftField } from "@/hooks/useDraft"
import type { Path } from "@/lib/draft"
import type { Field } from "@/lib/schema"
import { NestedFields } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** One of several kinds, each with fields of its own: strategy, optimizer, codec. Another kind begins with its own defaults. */
export function VariantsField({ field, path }: { field: Extract<Field, { kind: "variants" }>; path: Path }) {
  const { value, fault, set } = useDraftField(path)
  const named = (value as Record<string, unknown> | null | undefined)?.[field.tag]
  const chosen = field.variants.find((variant) => variant.value === named)
  const fallback = (field.default as Record<string, string> | null | undefined)?.[field.tag]
  const description = chosen && chosen.summary !== "" ? chosen.summary : field.description
  return (
    <>
      <Select
        className={classes.wide}
        label={field.label}
        labelProps={{ className: classes.label }}
        description={description}
        withAsterisk={field.required}
        error={fault}
        placeholder={fallback ?? "none"}
        data={field.variants.map((variant) => variant.value)}
        value={chosen?.value ?? null}
        onChange={(next) => set(next === null ? undefined : { [field.tag]: next })}
        clearable={!field.required}
        allowDeselect={false}
      />
      {chosen && chosen.fields.length > 0 && <NestedFields field={{ ...field, fields: chosen.fields }} path={path} />}
    </>
  )
}
