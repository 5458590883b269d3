/** A job file that says only what is not the default anyway: a spec of the API has everything filled in. */
import { resolve, type JsonSchema } from "./schema"

type Mapping = Record<string, unknown>

export function withoutDefaults(spec: Mapping, root: JsonSchema): Mapping {
  return minimal(spec, root, root)
}

function minimal(value: Mapping, schema: JsonSchema, root: JsonSchema): Mapping {
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const property = schema.properties?.[key]
    if (!property || isTag(property)) return [[key, inner]]
    if (isDefault(inner, property, schema.required?.includes(key) ?? false)) return []
    return [[key, below(inner, property, root)]]
  })
  return Object.fromEntries(kept) as Mapping
}

function below(value: unknown, property: JsonSchema, root: JsonSchema): unknown {
  const schema = selected(property, value, root)
  if (!isMapping(value) || !schema?.properties) return value
  const rest = minimal(value, schema, root)
  const [first] = Object.entries(value)
  return Object.keys(rest).length === 0 && first ? { [first[0]]: first[1] } : rest
}

/** The part of a union that stands there: the kind that its name says, or the part that is not null. */
function selected(property: JsonSchema, value: unknown, root: JsonSchema): JsonSchema | undefined {
  const schema = resolve(property, root)
  if (schema.discriminator && isMapping(value)) {
    const $ref = schema.discriminator.mapping[String(value[schema.discriminator.propertyName])]
    return $ref === undefined ? undefined : resolve({ $ref }, root)
  }
  const others = schema.anyOf?.filter((part) => part.type !== "null")
  return others?.length === 1 ? selected(others[0]!, value, root) : schema
}

function isTag({ const: only }: JsonSchema): boolean {
  return only !== undefined
}

function isDefault(value: unknown, property: JsonSchema, required: boolean): boolean {
  if (required) return false
  if (property.default === undefined) return value === null || (isMapping(value) && Object.keys(value).length === 0)
  return same(value, property.default)
}

function same(one: unknown, other: unknown): boolean {
  if (isMapping(one) && isMapping(other)) {
    const keys = new Set([...Object.keys(one), ...Object.keys(other)])
    return [...keys].every((key) => same(one[key], other[key]))
  }
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((item, at) => same(item, other[at]))
  return one === other
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
