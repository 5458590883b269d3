export interface Piece {
  text: string
  kind: "comment" | "key" | "text" | "value" | "plain"
}

const PIECES = /(?<comment>(?<=^|\s)#.*$)|(?<key>[\w./*-]+(?=\s*:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|(?<value>(?<![\w./-])(?:-?\d[\d_.]*(?:[eE][+-]?\d+)?|true|false|null)(?![\w./-]))/g

/** A line of YAML in the pieces that an editor colours. It reads no further than the line: what a block of text holds is not known. */
export function piecesOf(line: string): Piece[] {
  const pieces: Piece[] = []
  let end = 0
  for (const { 0: text, index, groups } of line.matchAll(PIECES)) {
    if (index > end) pieces.push({ text: line.slice(end, index), kind: "plain" })
    const kind = (["comment", "key", "text", "value"] as const).find((name) => groups![name] !== undefined)!
    pieces.push({ text, kind })
    end = index + text.length
  }
  if (end < line.length) pieces.push({ text: line.slice(end), kind: "plain" })
  return pieces
}
