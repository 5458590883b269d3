import { isCollection, isMap, isScalar, parseDocument } from "yaml"

export type Path = readonly (string | number)[]

/** A job file while it is written. The text is the truth: the form edits it in place, so comments and order stay. */
export interface Draft {
  text: string
  /** Value of the text; while the text cannot be read, its last value. */
  value: Record<string, unknown>
  /** Why the text cannot be read, or null. */
  error: string | null
  /** The line that it cannot be read at, from 1. */
  errorLine: number | null
}

export const emptyDraft: Draft = { text: "", value: {}, error: null, errorLine: null }

export function readDraft(text: string, before: Draft = emptyDraft): Draft {
  const document = parseDocument(text)
  const broken = document.errors[0]
  if (broken) return { text, value: before.value, error: broken.message.split("\n")[0]!.replace(/ at line \d+, column \d+:?$/, ""), errorLine: broken.linePos?.[0].line ?? null }
  const value: unknown = document.toJS()
  if (value === null || value === undefined) return { text, value: {}, error: null, errorLine: null }
  if (typeof value !== "object" || Array.isArray(value)) return { text, value: before.value, error: "A job file is a list of keys with values", errorLine: 1 }
  return { text, value: inFull(value as Record<string, unknown>), error: null, errorLine: null }
}

/** The draft with one value set, or removed (undefined). Maps that become empty on the way stay. */
export function setInDraft(draft: Draft, path: Path, value: unknown): Draft {
  const document = parseDocument(draft.text)
  if (!isMap(document.contents)) document.contents = document.createNode({}) as never
  for (let depth = 1; depth < path.length; depth++) {
    const parent = path.slice(0, depth)
    if (!isCollection(document.getIn(parent, true)) || isShortGate(parent, document.getIn(parent))) {
      document.setIn(parent, document.createNode(getIn(draft.value, parent) ?? {}))
    }
  }
  if (value === undefined) document.deleteIn(path)
  else {
    const [before, next] = [document.getIn(path, true), document.createNode(value)]
    if (isScalar(before)) next.comment = before.comment ?? null // "lr: 0.1 # as in the paper"
    document.setIn(path, next)
  }
  return readDraft(document.toString({ lineWidth: 0, flowCollectionPadding: false }), draft)
}

export function getIn(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | null | undefined)?.[key], value)
}

export function pointer(path: Path): string {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
}

/** `gate: asp` and `gate: {ssp: 3}` are short for the full form, which is the one that the form edits. */
function inFull(value: Record<string, unknown>): Record<string, unknown> {
  const { gate } = value
  if (typeof gate === "string") return { ...value, gate: { mode: gate } }
  if (typeof gate === "object" && gate !== null && "ssp" in gate) return { ...value, gate: { mode: "ssp", bound: gate.ssp } }
  return value
}

function isShortGate(path: Path, node: unknown): boolean {
  return path.length === 1 && path[0] === "gate" && isMap(node) && node.has("ssp")
}
