import type { LogChunk } from "@/client"

export interface LogLine {
  /** Stable while more output comes. */
  key: string
  label: string
  time: string
  text: string
}

/**
 * Whole lines, from chunks that begin and end within one. Chunks of several processes interleave, so each process's
 * output is put together by itself; a line stands where its first part came. Of a line repainted with \r the last picture stays.
 */
export function toLogLines(chunks: readonly LogChunk[]): LogLine[] {
  const lines: LogLine[] = []
  const open = new Map<string, LogLine>()
  for (const { seq, process_id, label, time, text } of chunks) {
    text.split("\n").forEach((part, index, parts) => {
      const begun = index === 0 ? open.get(process_id) : undefined
      const line = begun ?? { key: `${seq}.${index}`, label, time, text: "" }
      line.text += part
      if (!begun && (part !== "" || index < parts.length - 1)) lines.push(line)
      if (index < parts.length - 1) open.delete(process_id)
      else if (line.text !== "") open.set(process_id, line)
    })
  }
  return lines.map((line) => ({ ...line, text: repainted(line.text) }))
}

function repainted(text: string): string {
  return text.replace(/\r+$/, "").split("\r").at(-1)!
}
