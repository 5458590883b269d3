import type { DataLine } from "./chartData"

/** Lines that somebody has computed, for a chart that follows them: replaced as a whole. */
export class LineSource {
  lines: readonly DataLine[] = []
  private readonly listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly set = (lines: readonly DataLine[]): void => {
    this.lines = lines
    for (const listener of this.listeners) listener()
  }
}
