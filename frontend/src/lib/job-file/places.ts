/** Where in the text of a job file a value stands that a JSON pointer names. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type Pair } from "yaml"

/** The line, from 1, of what stands at each pointer, or of what it would stand in; null for the whole file. */
export function linesOf(text: string, pointers: readonly string[]): ReadonlyMap<string, number | null> {
  const lines = new LineCounter()
  const root = parseDocument(text, { lineCounter: lines }).contents
  return new Map(pointers.map((pointer) => [pointer, lineOf(root, keysOf(pointer), lines)]))
}

export function keysOf(pointer: string): string[] {
  return pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
}

function lineOf(root: Node | null, keys: readonly string[], lines: LineCounter): number | null {
  let node: unknown = root
  let offset: number | null = null
  for (const key of keys) {
    const [at, inner] = step(node, key)
    if (at === null) break
    offset = at
    node = inner
  }
  return offset === null ? null : lines.linePos(offset).line
}

function step(node: unknown, key: string): [offset: number | null, inner: unknown] {
  if (isMap(node)) {
    const pair = node.items.find((item: Pair) => isScalar(item.key) && String(item.key.value) === key)
    return [isScalar(pair?.key) ? (pair.key.range?.[0] ?? null) : null, pair?.value]
  }
  const inner = isSeq(node) ? (node.items[Number(key)] as Node | undefined) : undefined
  return [inner?.range?.[0] ?? null, inner]
}

/** Where a line begins and ends in the text. */
export function spanOf(text: string, line: number): [number, number] {
  const lines = text.split("\n")
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return [start, start + (lines[line - 1] ?? "").length]
}
