/** The parts of the job file's form: the fields that most jobs set, and the rest. */
import { getIn, pointer, type Path } from "./draft"
import type { Field } from "./schema"

export interface Placed {
  field: Field
  path: Path
}

/** Where a section's field stands in the file, with a label that needs no group around it. */
export type Choice = readonly [path: string, label?: string]

export const CODE: readonly Choice[] = [["name"], ["workload.entrypoint"], ["workload.args"]]
export const ALGORITHM: readonly Choice[] = [["strategy"], ["gate"]]
export const RESOURCES: readonly Choice[] = [
  ["roles.worker.count", "workers"],
  ["roles.server.count", "servers"],
  ["roles.worker.device", "worker device"],
  ["batch_size"],
  ["stop.epochs"],
  ["stop.steps"],
  ["checkpoint.every", "checkpoint every"],
  ["seed"],
]
/** Groups whose own mistakes stand in a section. */
export const CODE_GROUPS = ["workload"]
export const RESOURCES_GROUPS = ["stop"]
const SHOWN = [...CODE, ...ALGORITHM, ...RESOURCES].map(([path]) => path)

/** These fields, in this order; one that the schema does not have is left out. */
export function pick(fields: readonly Field[], choices: readonly Choice[]): Placed[] {
  return choices.flatMap(([path, label]) => {
    const keys = path.split(".")
    const field = fieldAt(fields, keys)
    return field ? [{ field: label ? { ...field, label } : field, path: keys }] : []
  })
}

function fieldAt(fields: readonly Field[], [key, ...rest]: readonly string[]): Field | undefined {
  const field = fields.find((one) => one.key === key)
  if (!field || rest.length === 0) return field
  return field.kind === "group" ? fieldAt(field.fields, rest) : undefined
}

/** The fields that stand in none of the three sections. */
export function moreFields(fields: readonly Field[]): Field[] {
  return rest(fields, "")
}

function rest(fields: readonly Field[], above: string): Field[] {
  return fields.flatMap((field) => {
    const path = above + field.key
    if (SHOWN.includes(path) || field.kind === "fixed" || field.kind === "other") return []
    if (field.kind !== "group" || !SHOWN.some((one) => one.startsWith(`${path}.`))) return [field]
    const inner = rest(field.fields, `${path}.`)
    return inner.length > 0 ? [{ ...field, fields: inner, isPart: [...CODE_GROUPS, ...RESOURCES_GROUPS].includes(path) }] : []
  })
}

/** The fields whose key, label or description has all these words, with the groups around them. */
export function matching(fields: readonly Field[], search: string): Field[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  return words.length === 0 ? [...fields] : fields.flatMap((field) => matchingPart(field, words))
}

function matchingPart(field: Field, words: readonly string[]): Field[] {
  if (hasWords(`${field.key} ${field.label} ${field.description}`, words)) return [field]
  if (field.kind === "group") {
    const fields = field.fields.flatMap((inner) => matchingPart(inner, words))
    return fields.length > 0 ? [{ ...field, fields }] : []
  }
  if (field.kind === "list") return field.fields.some((inner) => matchingPart(inner, words).length > 0) ? [field] : []
  if (field.kind !== "variants") return field.kind === "choice" && hasWords(field.options.join(" "), words) ? [field] : []
  const found = field.variants.some(({ value, summary, fields }) => hasWords(`${value} ${summary}`, words) || fields.some((inner) => matchingPart(inner, words).length > 0))
  return found ? [field] : []
}

function hasWords(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}

/** How many of the fields have a value in the file that is not their default. */
export function countChanged(fields: readonly Field[], value: unknown): number {
  return fields.reduce((sum, field) => sum + changedAt(field, getIn(value, [field.key])), 0)
}

function changedAt(field: Field, value: unknown): number {
  if (value === undefined) return 0
  if (field.kind === "group") return value !== null && !(field.optional && isEmpty(value)) ? countChanged(field.fields, value) : 1
  if (field.kind === "variants") {
    const named = getIn(value, [field.tag])
    const variant = field.variants.find((one) => one.value === named)
    return (named === getIn(field.default, [field.tag]) ? 0 : 1) + countChanged(variant?.fields ?? [], value)
  }
  return JSON.stringify(value) === JSON.stringify(field.default ?? null) ? 0 : 1
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0
}

/** True if the form has a field, a group or a list that shows what is said of exactly this place. */
export function hasPlace(fields: readonly Field[], keys: readonly string[]): boolean {
  const [key, ...rest] = keys
  if (key === undefined) return false
  const field = fields.find((one) => one.key === key)
  if (!field) return rest.length === 0 // a misspelt key stands in its group
  if (field.kind === "fixed" || field.kind === "other") return false
  if (rest.length === 0) return true
  if (field.kind === "group") return hasPlace(field.fields, rest)
  if (field.kind === "map") return rest.length === 1
  if (field.kind === "list") return rest.length === 1 || hasPlace(field.fields, rest.slice(1))
  return field.kind === "variants" && ((rest.length === 1 && rest[0] === field.tag) || field.variants.some((variant) => hasPlace(variant.fields, rest)))
}

/** The id of the field's input, by which a link leads to it. */
export function fieldId(path: Path): string {
  return `field${pointer(path).replaceAll(/\s/g, "_")}`
}
