/** Completions of the job file's text, from its schema: the keys and values that may stand at a place. It reads blocks by their indentation, and `{…}` on one line. */
import { getIn, type Path } from "./draft"
import type { Field } from "./schema"

export interface Completion {
  label: string
  insert: string
  help: string
}

export interface Completions {
  /** Where the word begins that they are for. */
  from: number
  options: Completion[]
}

interface Cursor {
  path: Path
  /** The key whose value stands there; null: a key does. */
  of: string | null
  word: string
  /** Within braces. */
  flow: boolean
}

const MAX_OPTIONS = 60

export function completionsAt(text: string, caret: number, fields: readonly Field[], value: unknown): Completions {
  const { path, of, word, flow } = cursorAt(text.slice(0, caret))
  const among = fieldsAt(fields, path, value)
  const options = of === null ? keysOf(among, getIn(value, path), flow, word) : valuesOf(among.find(({ key }) => key === of), word)
  const begins = options.filter(({ label }) => label.startsWith(word) && (label !== word || of === null))
  return { from: caret - word.length, options: begins.slice(0, MAX_OPTIONS) }
}

/** Where the end of `before` is: its path of keys, and the word that it ends with. */
export function cursorAt(before: string): Cursor {
  const lines = before.split("\n")
  const line = lines.pop()!
  const indent = /^ */.exec(line)![0].length
  const outer = parentsOf(lines, indent)
  const [inner, rest, flow] = intoBraces(line.slice(indent))
  const path = [...outer, ...inner]
  if (/(^|\s)#/.test(rest)) return { path, of: null, word: "#", flow }
  const [, key, word] = /^\s*([\w./-]+):\s+(\S*)$/.exec(rest) ?? []
  if (key !== undefined) return { path, of: key, word: word!, flow }
  return { path, of: null, word: /^\s*([\w-]*)$/.exec(rest)?.[1] ?? "#", flow }
}

/** The keys that a line of this indentation stands below. */
function parentsOf(lines: readonly string[], indent: number): string[] {
  const path: string[] = []
  let below = indent
  for (const line of [...lines].reverse()) {
    const [, spaces, key] = /^( *)([\w./-]+):\s*(?:#.*)?$/.exec(line) ?? []
    const depth = spaces?.length ?? /^ */.exec(line)![0].length
    if (line.trim() === "" || depth >= below) continue
    below = depth
    if (key !== undefined) path.unshift(key)
    if (depth === 0) break
  }
  return path
}

/** The keys whose braces are open at the end of a line, and what stands in the innermost ones since the last comma. */
function intoBraces(line: string): [path: string[], rest: string, flow: boolean] {
  const path: string[] = []
  let rest = ""
  for (const char of line) {
    if (char === "{") path.push(/([\w./-]+):\s*$/.exec(rest)?.[1] ?? "")
    else if (char === "}") path.pop()
    if (char === "{" || char === "}" || (char === "," && path.length > 0)) rest = ""
    else rest += char
  }
  return [path, rest, path.length > 0]
}

function fieldsAt(fields: readonly Field[], path: Path, value: unknown): readonly Field[] {
  let among = fields
  for (const [depth, key] of path.entries()) {
    const field = among.find((one) => one.key === key)
    if (field?.kind === "group") among = field.fields
    else if (field?.kind === "variants") among = fieldsOfVariant(field, getIn(value, path.slice(0, depth + 1)))
    else return []
  }
  return among
}

function fieldsOfVariant({ tag, variants, description }: Extract<Field, { kind: "variants" }>, value: unknown): Field[] {
  const named = (value as Record<string, unknown> | null | undefined)?.[tag]
  const names = variants.map((variant) => variant.value)
  const helps = variants.map(({ summary }) => summary)
  const ofTag: Field = { kind: "choice", options: names, helps, key: tag, label: tag, description, required: true, optional: false, none: undefined, when: undefined, default: undefined }
  return [ofTag, ...(variants.find((variant) => variant.value === named)?.fields ?? [])]
}

function keysOf(fields: readonly Field[], there: unknown, flow: boolean, word: string): Completion[] {
  const present = Object.keys((there ?? {})).filter((key) => key !== word)
  return fields
    .filter(({ key }) => !present.includes(key))
    .map((field) => ({ label: field.key, insert: `${field.key}:${!flow && isBlock(field) ? "\n" : " "}`, help: field.description }))
}

function isBlock({ kind }: Field): boolean {
  return kind === "group" || kind === "variants"
}

function valuesOf(field: Field | undefined, word: string): Completion[] {
  const plain = (values: readonly string[], helps?: readonly string[]) => values.map((label, at) => ({ label, insert: label, help: helps?.[at] ?? "" }))
  switch (field?.kind) {
    case "choice":
      return plain(field.options, field.helps)
    case "switch":
      return plain(["true", "false"])
    case "numberOrWord":
      return plain(field.words)
    case "variants":
      return field.variants.map(({ value, summary }) => ({ label: value, insert: `{${field.tag}: ${value}}`, help: summary }))
    case "number":
    case "text":
      return word === "" && (typeof field.default === "number" || typeof field.default === "string") ? plain([String(field.default)], ["default"]) : []
    default:
      return []
  }
}
