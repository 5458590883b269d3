import type { LogChunk } from "@/client"

export interface LogLine {
  /** Stable while more output comes: the number of the chunk that it began in, and its place there. */
  key: string
  /** The number of that chunk. */
  seq: number
  process: string
  label: string
  time: string
  text: string
  level: Level | null
}

export type Level = "debug" | "info" | "warning" | "error"

/**
 * Whole lines, from chunks that begin and end within one. Chunks of several processes interleave, so each process's output is
 * put together by itself; a line stands where its first part came. A line that was repainted with \r keeps its last text.
 *
 * The cost of a chunk at the end depends on its own length only, not on the length of the log.
 */
export class LogBook {
  readonly lines: LogLine[] = []
  /** The line of each process that no line break has ended yet, as it came. */
  private readonly open = new Map<string, { line: LogLine; raw: string }>()
  /** Processes in whose output a traceback is going on. */
  private readonly failing = new Set<string>()
  private last = 0

  constructor(chunks: readonly LogChunk[] = []) {
    this.append(chunks)
  }

  /** Those that are new. True if there were any. */
  append(chunks: readonly LogChunk[]): boolean {
    const fresh = chunks.filter(({ seq }) => seq > this.last)
    for (const chunk of fresh) this.take(chunk)
    return fresh.length > 0
  }

  private take({ seq, process_id, label, time, text }: LogChunk): void {
    this.last = seq
    const parts = text.split("\n")
    parts.forEach((part, index) => {
      const begun = index === 0 ? this.open.get(process_id) : undefined
      const ended = index < parts.length - 1
      if (!begun && part === "" && !ended) return
      const raw = (begun?.raw ?? "") + part
      const line = begun?.line ?? { key: `${seq}.${index}`, seq, process: process_id, label, time, text: "", level: null }
      if (!begun) this.lines.push(line)
      this.write(line, raw, ended)
      if (ended) this.open.delete(process_id)
      else this.open.set(process_id, { line, raw })
    })
  }

  private write(line: LogLine, raw: string, ended: boolean): void {
    line.text = repainted(raw)
    const traceback = line.text.startsWith("Traceback (most recent call last)")
    line.level = traceback || this.failing.has(line.process) ? "error" : levelOf(line.text)
    if (traceback) this.failing.add(line.process)
    else if (ended && line.text !== "" && !/^\s/.test(line.text)) this.failing.delete(line.process) // the line that names the error
  }
}

function repainted(text: string): string {
  return text.replace(/\r+$/, "").split("\r").at(-1)!
}

const WORDS: Record<string, Level> = {
  trace: "debug", debug: "debug", info: "info", notice: "info", warn: "warning", warning: "warning", error: "error", critical: "error", fatal: "error",
}
/** `"level": "info"` as structured logs have it; else a word in capitals near the beginning, or one that ends with a colon there. */
const IN_JSON = /"(?:level|levelname|severity)"\s*:\s*"(\w+)"/i
const IN_CAPITALS = /\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b/
const AT_START = /^\[?(debug|info|warning|error|critical|fatal)\]?:/i
const NAMED_WARNING = /\b\w*Warning: /
const BEGINNING = 80

/** The level that a line tells of itself, or null. */
export function levelOf(text: string): Level | null {
  const found = (text.startsWith("{") ? IN_JSON.exec(text) : null) ?? IN_CAPITALS.exec(text.slice(0, BEGINNING)) ?? AT_START.exec(text)
  if (found) return WORDS[found[1]!.toLowerCase()] ?? null
  return NAMED_WARNING.test(text) ? "warning" : null
}
