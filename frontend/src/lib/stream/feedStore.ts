import type { Job } from "@/client"
import { emptyFeed, FEED_EVENTS, reduceFeed, type Feed } from "./feed"
import { LiveMetrics, type LiveEvent } from "./live"
import { followStream, type StreamMessage } from "./stream"

/** One frame of several: messages that arrive together are drawn together. */
const GATHER_MS = 50

/** Follows one job's stream and keeps its feed for React, and its metrics for the charts, which draw without React. */
export class FeedStore {
  readonly live = new LiveMetrics()
  /** Milliseconds since the epoch. */
  followedAt = Date.now()
  private feed: Feed
  private waiting: StreamMessage[] = []
  private readonly listeners = new Set<() => void>()

  constructor(
    readonly opened: Job,
    private readonly url: (after: number) => string,
  ) {
    this.feed = emptyFeed(opened)
  }

  readonly get = (): Feed => this.feed

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Begins at the state in which the page was opened, and returns what ends it. `onLost` is called whenever the connection breaks. */
  readonly follow = (onLost?: () => void): (() => void) => {
    let timer: number | undefined
    this.set(emptyFeed(this.opened))
    this.live.clear()
    this.followedAt = Date.now()
    const flush = () => {
      timer = undefined
      const messages = this.waiting.splice(0)
      for (const { event, data } of messages) if (event === "metrics") this.live.add(data as LiveEvent)
      const others = messages.filter(({ event }) => event !== "metrics")
      if (others.length > 0) this.set(others.reduce(reduceFeed, this.feed))
    }
    const stop = followStream({
      url: this.url,
      after: this.opened.seq,
      events: FEED_EVENTS,
      onMessage: (message) => {
        this.waiting.push(message)
        timer ??= window.setTimeout(flush, GATHER_MS)
      },
      onConnection: (connection) => {
        this.set({ ...this.feed, connection })
        if (connection === "reconnecting") onLost?.()
      },
    })
    return () => {
      stop()
      window.clearTimeout(timer)
      this.waiting = []
    }
  }

  private set(feed: Feed): void {
    this.feed = feed
    for (const listener of this.listeners) listener()
  }
}
