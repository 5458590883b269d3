/** Reads the JSON Schema of the job file into what a form needs. Only what pydantic writes is understood; the rest is edited as YAML. */

export interface JsonSchema {
  $ref?: string
  $defs?: Record<string, JsonSchema>
  type?: string
  title?: string
  description?: string
  default?: unknown
  examples?: unknown[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: boolean | JsonSchema
  prefixItems?: JsonSchema[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  discriminator?: { propertyName: string; mapping: Record<string, string> }
}

export interface Variant {
  value: string
  summary: string
  fields: Field[]
}

export type Kind =
  | { kind: "text"; example: string | undefined }
  | { kind: "duration" }
  | { kind: "number"; integer: boolean; min: number | undefined; max: number | undefined }
  | { kind: "switch" }
  | { kind: "choice"; options: string[] }
  | { kind: "group"; fields: Field[] }
  | { kind: "variants"; tag: string; variants: Variant[] }
  | { kind: "map" }
  | { kind: "fixed" }
  | { kind: "other" }

export type Field = Kind & {
  key: string
  label: string
  description: string
  required: boolean
  /** null is a value of it: "not set". */
  optional: boolean
  default: unknown
}

export function readSchema(root: JsonSchema): Field[] {
  return fieldsOf(root, root)
}

function fieldsOf(schema: JsonSchema, root: JsonSchema): Field[] {
  return Object.entries(schema.properties ?? {}).map(([key, property]) => field(key, property, schema.required?.includes(key) ?? false, root))
}

/** Keys that are not words. */
const LABELS: Record<string, string> = { lr: "learning rate", n_push: "push every", n_fetch: "fetch every", eps: "epsilon" }

function field(key: string, property: JsonSchema, required: boolean, root: JsonSchema): Field {
  const { schema, optional } = withoutNull(resolve(property, root), root)
  const label = LABELS[key] ?? key.replaceAll("_", " ")
  const description = property.description ?? schema.description ?? ""
  return {
    ...kindOf(schema, root),
    key,
    label,
    description: description.toLowerCase() === label ? "" : description,
    required,
    optional,
    default: property.default,
  }
}

function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (!schema.$ref) return schema
  const named = root.$defs?.[schema.$ref.split("/").at(-1)!]
  if (!named) throw new Error(`The schema has no ${schema.$ref}`)
  return resolve(named, root)
}

function withoutNull(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; optional: boolean } {
  const others = schema.anyOf?.filter((part) => part.type !== "null")
  const optional = others !== undefined && others.length < schema.anyOf!.length
  return optional && others.length === 1 ? { schema: resolve(others[0]!, root), optional } : { schema, optional }
}

function kindOf(schema: JsonSchema, root: JsonSchema): Kind {
  if (schema.const !== undefined) return { kind: "fixed" }
  if (schema.enum) return { kind: "choice", options: schema.enum.map(String) }
  if (schema.discriminator) return variants(schema.discriminator, root)
  if (schema.properties) return { kind: "group", fields: fieldsOf(schema, root) }
  if (schema.anyOf?.some((part) => part.type === "string") && schema.anyOf.some((part) => part.type === "number")) return { kind: "duration" }
  switch (schema.type) {
    case "boolean":
      return { kind: "switch" }
    case "integer":
    case "number":
      return {
        kind: "number",
        integer: schema.type === "integer",
        min: schema.minimum ?? schema.exclusiveMinimum,
        max: schema.maximum ?? schema.exclusiveMaximum,
      }
    case "string":
      return { kind: "text", example: schema.examples?.map(String)[0] }
    case "object":
      return { kind: "map" }
    default:
      return { kind: "other" }
  }
}

function variants({ propertyName, mapping }: NonNullable<JsonSchema["discriminator"]>, root: JsonSchema): Kind {
  return {
    kind: "variants",
    tag: propertyName,
    variants: Object.entries(mapping).map(([value, $ref]) => {
      const schema = resolve({ $ref }, root)
      return { value, summary: schema.description ?? "", fields: fieldsOf(schema, root).filter(({ key }) => key !== propertyName) }
    }),
  }
}
