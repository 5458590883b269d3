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
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  discriminator?: { propertyName: string; mapping: Record<string, string> }
  "x-strategy"?: StrategyFacts
}

/** Facts of a strategy that go with its choice. They stand in its Python class. */
export interface StrategyFacts {
  intent: Intent | null
  gates: string[]
  /** The only number of workers that it runs with; null: any. */
  workers: number | null
}

/** The aim that some strategies are selected for. */
export interface Intent {
  title: string
  summary: string
  needs: string
}

export interface Variant {
  value: string
  summary: string
  fields: Field[]
  strategy: StrategyFacts | undefined
}

export interface Range {
  min: number | undefined
  max: number | undefined
  /** The limit itself is not allowed. */
  above: boolean
  below: boolean
}

/** A group's `keys` are all it has. `isPart`: some of its fields stand elsewhere, and so does what is said of the whole group. */
export type Kind =
  | { kind: "text"; example: string | undefined }
  | { kind: "duration" }
  | { kind: "number"; integer: boolean; range: Range }
  | { kind: "numberOrWord"; words: string[] }
  | { kind: "switch" }
  | { kind: "choice"; options: string[]; helps?: string[] }
  | { kind: "group"; fields: Field[]; keys: string[]; isPart?: boolean }
  | { kind: "variants"; tag: string; variants: Variant[] }
  | { kind: "map" }
  | { kind: "list"; fields: Field[] }
  | { kind: "texts" }
  | { kind: "fixed" }
  | { kind: "other" }

export type Field = Kind & {
  key: string
  label: string
  description: string
  required: boolean
  /** null is a value of it: "not set". */
  optional: boolean
  /** Meaning of null, where it is not the default and so has to be selected. */
  none: string | undefined
  /** It means something only while its neighbour `key` has this value. */
  when: { key: string; value: unknown; default: unknown } | undefined
  default: unknown
}

export function readSchema(root: JsonSchema): Field[] {
  return fieldsOf(root, root)
}

function fieldsOf(schema: JsonSchema, root: JsonSchema): Field[] {
  const fields = Object.entries(schema.properties ?? {}).map(([key, property]) =>
    field(key, property, schema.required?.includes(key) ?? false, root),
  )
  return fields.map((one) => conditional(one, fields))
}

/** A description that begins with "bsp: ..." or "adaptive: ..." belongs to that choice, or switch, among the field's neighbours. */
function conditional(one: Field, neighbours: readonly Field[]): Field {
  const [, word, rest] = /^(\w+): (.+)$/s.exec(one.description) ?? []
  const deciding = neighbours.find((other) => (other.kind === "choice" ? other.options.includes(word!) : other.kind === "switch" && other.key === word))
  if (!word || !deciding || deciding.key === one.key) return one
  return { ...one, description: rest!.replace(/^./, (first) => first.toUpperCase()), when: { key: deciding.key, value: deciding.kind === "switch" ? true : word, default: deciding.default } }
}

/** True if a field means something beside these values of its group; one that has a value is always shown. */
export function isShown({ key, when }: Field, group: Record<string, unknown> | null | undefined): boolean {
  return !when || group?.[key] !== undefined || (group?.[when.key] ?? when.default) === when.value
}

/** Keys that are not words, or not the ones that people look for. */
const LABELS: Record<string, string> = {
  lr: "learning rate", n_push: "push every", n_fetch: "fetch every", eps: "epsilon", lam: "strength (lambda)", k: "pushes per outer step",
  alpha: "elasticity (alpha)", delta: "momentum (delta)", mu: "pull of the center (mu)", gamma: "half distance (gamma)", inner: "inner optimizer",
  switch: "average every step until", over: "falls over", to: "falls to", warmup: "warm-up", clip_norm: "clip norm at", args: "arguments",
  clip_parameter_norm: "clip each parameter at", hogwild: "hogwild threads",
  average: "average of the center", members: "ensemble members", max_staleness: "drop from staleness", decay: "memory (decay)",
}

/** One field, without the neighbours that it may depend on. */
export function field(key: string, property: JsonSchema, required: boolean, root: JsonSchema): Field {
  const { schema, optional } = withoutNull(resolve(property, root), root)
  const label = LABELS[key] ?? key.replaceAll("_", " ")
  const [, told, none] = /^(.*?)(?:; null: (.+))?$/s.exec(property.description ?? schema.description ?? "")!
  const description = told!
  return {
    ...kindOf(schema, root),
    key,
    label,
    description: description.toLowerCase() === label ? "" : description,
    required,
    optional,
    none: optional && property.default !== null && property.default !== undefined ? (none ?? "none") : undefined,
    when: undefined,
    default: property.default,
  }
}

export function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
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
  if (schema.discriminator) return variants(schema, schema.discriminator, root)
  if (schema.properties) return { kind: "group", fields: fieldsOf(schema, root), keys: Object.keys(schema.properties) }
  if (schema.anyOf) return numberOrText(schema.anyOf)
  switch (schema.type) {
    case "boolean":
      return { kind: "switch" }
    case "integer":
    case "number":
      return {
        kind: "number",
        integer: schema.type === "integer",
        range: rangeOf(schema),
      }
    case "string":
      return { kind: "text", example: schema.examples?.map(String)[0] }
    case "object":
      return { kind: "map" }
    case "array":
      return listOf(schema.items && resolve(schema.items, root), root)
    default:
      return { kind: "other" }
  }
}

function listOf(items: JsonSchema | undefined, root: JsonSchema): Kind {
  if (items?.properties) return { kind: "list", fields: fieldsOf(items, root) }
  return items?.type === "string" ? { kind: "texts" } : { kind: "other" }
}

function rangeOf(schema: JsonSchema): Range {
  return {
    min: schema.minimum ?? schema.exclusiveMinimum,
    max: schema.maximum ?? schema.exclusiveMaximum,
    above: schema.exclusiveMinimum !== undefined,
    below: schema.exclusiveMaximum !== undefined,
  }
}

export function isScalarDefault({ default: value }: Field): boolean {
  return ["string", "number", "boolean"].includes(typeof value)
}

/** "0 to 1", "at least 1", "above 0, below 1". A limit that only keeps numbers in bounds, such as 2^31, is not worth words. */
export function rangeInWords({ min: least, max: most, above, below }: Range): string {
  const [min, max] = [least, most].map((limit) => (limit !== undefined && Math.abs(limit) < 1e9 ? limit : undefined))
  if (min === undefined) return max === undefined ? "" : `${below ? "below" : "at most"} ${max}`
  if (max === undefined) return `${above ? "above" : "at least"} ${min}`
  return above || below ? `${above ? "above" : "at least"} ${min}, ${below ? "below" : "at most"} ${max}` : `${min} to ${max}`
}

function isNumeric({ type }: JsonSchema): boolean {
  return type === "number" || type === "integer"
}

/** A number or some word of a list, such as "uniform"; or a number or text with a unit, which is a duration; or a count or a share. */
function numberOrText(parts: readonly JsonSchema[]): Kind {
  if (parts.every(isNumeric)) return { kind: "number", integer: false, range: rangeOf(parts[0]!) }
  const texts = parts.filter((part) => part.type === "string")
  if (texts.length === 0 || !parts.some(isNumeric)) return { kind: "other" }
  const words = texts.flatMap((part) => (typeof part.const === "string" ? [part.const] : (part.enum ?? []).map(String)))
  return words.length > 0 ? { kind: "numberOrWord", words } : { kind: "duration" }
}

/** In the order of the union: a mapping is sorted by name. */
function variants({ oneOf = [] }: JsonSchema, { propertyName, mapping }: NonNullable<JsonSchema["discriminator"]>, root: JsonSchema): Kind {
  const place = ($ref: string) => oneOf.findIndex((part) => part.$ref === $ref)
  const entries = Object.entries(mapping).sort(([, one], [, other]) => place(one) - place(other))
  return {
    kind: "variants",
    tag: propertyName,
    variants: entries.map(([value, $ref]) => {
      const schema = resolve({ $ref }, root)
      return { value, summary: schema.description ?? "", fields: fieldsOf(schema, root).filter(({ key }) => key !== propertyName), strategy: schema["x-strategy"] }
    }),
  }
}

/** The first sentence of a description, without its full stop, and the rest. */
export function firstSentence(text: string): [first: string, rest: string] {
  const end = text.search(/\.\s/)
  return end < 0 ? [text.replace(/\.$/, ""), ""] : [text.slice(0, end), text.slice(end + 1).trim().replace(/\.$/, "")]
}
