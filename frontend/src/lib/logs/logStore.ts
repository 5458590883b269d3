import type { LogChunk } from "@/client"
import { LogBook, type LogLine } from "./logBook"

/** Listeners hear of new output at most so often, however fast it comes. */
const GATHER_MS = 150

export interface LogSnapshot {
  /** Grows in place; a new snapshot says that it has. */
  lines: readonly LogLine[]
}

/** The output that has been read back so far, and all that came since: nothing is dropped while it is looked at. */
export class LogStore {
  private history: readonly LogChunk[] | null = null
  private readonly live: LogChunk[] = []
  private book = new LogBook()
  private snapshot: LogSnapshot = { lines: [] }
  private timer: number | undefined
  private readonly listeners = new Set<() => void>()

  readonly get = (): LogSnapshot => this.snapshot

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Takes the history, oldest first; it reaches further back each time. */
  read(history: readonly LogChunk[]): void {
    this.history = history
    this.book = new LogBook(history)
    this.book.append(this.live)
    this.tell()
  }

  /** The newest chunks of the stream, some of which may be known. */
  follow(chunks: readonly LogChunk[]): void {
    const last = this.live.at(-1)?.seq ?? 0
    const fresh = chunks.filter(({ seq }) => seq > last)
    if (fresh.length === 0) return
    this.live.push(...fresh)
    if (this.history && this.book.append(fresh)) this.timer ??= window.setTimeout(this.tell, GATHER_MS)
  }

  private readonly tell = (): void => {
    window.clearTimeout(this.timer)
    this.timer = undefined
    this.snapshot = { lines: this.book.lines }
    for (const listener of this.listeners) listener()
  }
}
