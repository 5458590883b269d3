/** The parts of an OpenAPI document that its page shows. */
export interface ApiDocument {
  info: { title: string; version: string; description?: string }
  paths: Record<string, Record<string, RawOperation>>
}

interface RawOperation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: RawSchema }[]
  requestBody?: { content: Record<string, { schema?: RawSchema }> }
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: RawSchema }> }>
}

interface RawSchema {
  $ref?: string
  type?: string
  format?: string
  enum?: unknown[]
  items?: RawSchema
  anyOf?: RawSchema[]
  description?: string
}

export interface Parameter {
  name: string
  place: string
  required: boolean
  type: string
  description: string
}

export interface Operation {
  id: string
  method: string
  path: string
  description: string
  parameters: Parameter[]
  body: string | null
  answers: { status: string; type: string }[]
}

export interface Section {
  tag: string
  operations: Operation[]
}

/** Operations by tag, in the order of the document. */
export function sections(document: ApiDocument): Section[] {
  const found = new Map<string, Operation[]>()
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, raw] of Object.entries(methods)) {
      const tag = raw.tags?.[0] ?? "other"
      found.set(tag, [...(found.get(tag) ?? []), operation(path, method, raw)])
    }
  }
  return [...found].map(([tag, operations]) => ({ tag, operations }))
}

function operation(path: string, method: string, raw: RawOperation): Operation {
  return {
    id: raw.operationId ?? `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    description: raw.description ?? raw.summary ?? "",
    parameters: (raw.parameters ?? []).map((each) => ({
      name: each.name,
      place: each.in,
      required: each.required ?? false,
      type: typeName(each.schema),
      description: each.description ?? each.schema?.description ?? "",
    })),
    body: contentType(raw.requestBody?.content),
    answers: Object.entries(raw.responses ?? {}).map(([status, answer]) => ({ status, type: contentType(answer.content) ?? answer.description ?? "" })),
  }
}

function contentType(content: Record<string, { schema?: RawSchema }> | undefined): string | null {
  const [first] = Object.entries(content ?? {})
  return first ? `${typeName(first[1].schema)} (${first[0]})` : null
}

function typeName(schema: RawSchema | undefined): string {
  if (!schema) return "any"
  if (schema.$ref) return schema.$ref.split("/").at(-1)!
  if (schema.anyOf) return schema.anyOf.map(typeName).join(" or ")
  if (schema.enum) return schema.enum.map(String).join(" | ")
  if (schema.type === "array") return `list of ${typeName(schema.items)}`
  return [schema.type ?? "any", schema.format].filter(Boolean).join(", ")
}

/** A description as it was meant: its lines were broken for programs. A line that begins a list, or stands apart, stays a line. */
export function reflowed(description: string): string {
  return description.replace(/(?<!\n)\n(?![\n\s*-])/g, " ").trim()
}

export function firstSentence(description: string): string {
  const [paragraph = ""] = reflowed(description).split("\n")
  return /^.*?[.:](?= [A-Z]|$)/.exec(paragraph)?.[0] ?? paragraph
}

/** The request as somebody would type it. */
export function curl({ method, path, body }: Operation, origin: string): string {
  const words = ["curl", ...(method === "GET" ? [] : ["-X", method]), `-H "Authorization: Bearer $GRADSTREAM_TOKEN"`]
  if (body) words.push(`-H "Content-Type: ${/\((.*)\)/.exec(body)?.[1] ?? "application/json"}"`, "--data @body")
  return `${words.join(" ")} ${origin.replace("//gradstream.localhost", "//127.0.0.1")}${path}`
}
