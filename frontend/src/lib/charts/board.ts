import type { Range } from "./axes"

const REST_MS = 180

/**
 * The shared state of all charts of a page: the visible range. Charts follow it at once; the address, and those who
 * ask the server, once it rests.
 */
export class Board {
  private readonly moved = new Set<() => void>()
  private readonly rested = new Set<() => void>()
  private timer: ReturnType<typeof setTimeout> | undefined
  private resting: Range | null

  constructor(private range: Range | null) {
    this.resting = range
  }

  readonly get = (): Range | null => this.range

  readonly getResting = (): Range | null => this.resting

  readonly subscribe = (listener: () => void): (() => void) => {
    this.moved.add(listener)
    return () => this.moved.delete(listener)
  }

  readonly subscribeResting = (listener: () => void): (() => void) => {
    this.rested.add(listener)
    return () => this.rested.delete(listener)
  }

  readonly set = (range: Range | null): void => {
    if (range?.from === this.range?.from && range?.to === this.range?.to) return
    this.range = range
    for (const listener of this.moved) listener()
    clearTimeout(this.timer)
    this.timer = setTimeout(this.rest, REST_MS)
  }

  private readonly rest = () => {
    this.resting = this.range
    for (const listener of this.rested) listener()
  }
}
