export type Connection = "connecting" | "live" | "reconnecting" | "ended"

export interface StreamMessage {
  event: string
  data: unknown
}

interface StreamOptions {
  /** The address that continues after the event with this id. */
  url: (after: number) => string
  after: number
  events: readonly string[]
  onMessage: (message: StreamMessage) => void
  onConnection: (connection: Connection) => void
}

/** The server says something every 10 s. After as long a silence as this the connection is taken for dead, whatever it looks like. */
export const SILENCE_MS = 25_000

const RETRY_MS = [250, 500, 1000, 2000, 4000]

/**
 * Follows server-sent events until the returned function is called. A lost or silent connection, or a server that says `closing`,
 * is followed by a new one that continues after the last id seen; ids not above it are repeats and are skipped.
 */
export function followStream({ url, after, events, onMessage, onConnection }: StreamOptions): () => void {
  let cursor = after
  let failures = 0
  let timer: number | undefined
  let silence: number | undefined
  let source: EventSource | undefined

  const heard = () => {
    window.clearTimeout(silence)
    silence = window.setTimeout(reconnect, SILENCE_MS)
  }
  const receive = (message: MessageEvent<string>) => {
    heard()
    const id = message.lastEventId === "" ? null : Number(message.lastEventId)
    if (id !== null && id <= cursor) return
    cursor = id ?? cursor
    onMessage({ event: message.type, data: JSON.parse(message.data) })
  }
  const reconnect = () => {
    source?.close()
    window.clearTimeout(silence)
    onConnection("reconnecting")
    timer = window.setTimeout(connect, RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)])
  }
  const connect = () => {
    source = new EventSource(url(cursor))
    heard()
    source.onopen = () => {
      heard()
      failures = 0
      onConnection("live")
    }
    source.onerror = reconnect
    source.addEventListener("closing", reconnect)
    source.addEventListener("alive", heard)
    for (const event of events) source.addEventListener(event, receive)
  }

  onConnection("connecting")
  connect()
  return () => {
    window.clearTimeout(timer)
    window.clearTimeout(silence)
    source?.close()
  }
}
