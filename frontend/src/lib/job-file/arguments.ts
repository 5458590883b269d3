import type { BundledArgument } from "@/client"
import { field, type Field, type JsonSchema } from "./schema"

/** The form's field for an argument of the workload; null: its type has none, and its value is written as in YAML. */
export function argumentField({ name, annotation, required, literal, default: value, values, help }: BundledArgument): Field | null {
  if (!values) return null
  const schema: JsonSchema = { ...values, ...(literal ? { default: value } : {}) }
  const found = { ...field(name, schema, required, schema), label: name, description: described(help || annotation, required || literal) }
  return isTyped(found, values) ? found : null
}

function described(help: string, isDefaultKnown: boolean): string {
  return isDefaultKnown ? help : `${help.replace(/\.$/, "")} (empty: the code's default)`
}

/** A choice is written as text, so one between numbers has no field. */
function isTyped(found: Field, values: JsonSchema): boolean {
  if (found.kind !== "choice") return ["number", "switch", "text"].includes(found.kind)
  const options = values.enum ?? values.anyOf?.flatMap((part) => part.enum ?? []) ?? []
  return options.every((option) => typeof option === "string")
}
