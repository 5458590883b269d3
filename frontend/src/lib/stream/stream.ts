import { rightToOpen, type Right } from "./held"

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

/** The server says something every 3 s. After as long a silence as this the connection is taken for dead, whatever it looks like. */
export const SILENCE_MS = 10_000

const RETRY_MS = [250, 500, 1000, 2000, 4000]
/**
 * A stream that may not stay open is closed when it says nothing for so long, at first or after something, and some time after its
 * first word in any case: what goes on talking would have the turn for ever. It is opened again after a while.
 */
const SILENT_MS = 2000
const QUIET_MS = 500
const TALK_MS = 1000
const TURN_MS = 2000

/**
 * Follows server-sent events until the returned function is called. A lost or silent connection, or a server that says `closing`,
 * is followed by a new one that continues after the last id seen; ids not above it are repeats and are skipped. Where more streams
 * are open than a browser can keep, or the page is hidden, it is taken up now and then for a moment; at once when the page is shown.
 */
export function followStream({ url, after, events, onMessage, onConnection }: StreamOptions): () => void {
  let cursor = after
  let failures = 0
  let timer: number | undefined
  let silence: number | undefined
  let source: EventSource | undefined
  let state: "asked" | "open" | "told" = "asked"
  let right: Right | null = null
  let over = 0
  let turn = 0

  const heard = () => {
    window.clearTimeout(silence)
    if (right?.stays || state === "asked") silence = window.setTimeout(reconnect, SILENCE_MS)
    else silence = window.setTimeout(() => again(TURN_MS), state === "told" ? Math.min(QUIET_MS, over - performance.now()) : SILENT_MS)
  }
  const receive = (message: MessageEvent<string>) => {
    if (state !== "told") over = performance.now() + TALK_MS
    state = "told"
    heard()
    const id = message.lastEventId === "" ? null : Number(message.lastEventId)
    if (id !== null && id <= cursor) return
    cursor = id ?? cursor
    onMessage({ event: message.type, data: JSON.parse(message.data) })
  }
  const close = () => {
    turn++
    window.clearTimeout(timer)
    window.clearTimeout(silence)
    source?.close()
    right?.release()
    right = null
  }
  const again = (pause: number) => {
    close()
    timer = window.setTimeout(() => void connect(), pause)
  }
  const reconnect = () => {
    onConnection("reconnecting")
    again(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]!)
  }
  const connect = async () => {
    const mine = turn
    const given = await rightToOpen()
    if (mine === turn) open(given)
    else given.release() // another one was begun, or it was stopped, meanwhile
  }
  const open = (given: Right) => {
    right = given
    state = "asked"
    source = connection(url(cursor), { open: opened, lost: reconnect, alive: heard }, events, receive)
    heard()
  }
  const opened = () => {
    state = "open"
    heard()
    failures = 0
    onConnection("live")
  }
  onConnection("connecting")
  void connect()
  const stop = listen([
    [document, "visibilitychange", () => source && failures === 0 && again(document.visibilityState === "hidden" ? TURN_MS : 0)],
    [window, "offline", reconnect], // what is cut may look open for long; a server on this machine is there all the same
    [window, "online", () => failures > 0 && again(0)],
  ])
  return () => [stop, close].forEach((end) => end())
}

function connection(
  address: string,
  on: Record<"open" | "lost" | "alive", () => void>,
  events: readonly string[],
  receive: (message: MessageEvent<string>) => void,
): EventSource {
  const source = new EventSource(address)
  source.onopen = on.open
  source.onerror = on.lost
  source.addEventListener("closing", on.lost)
  source.addEventListener("alive", on.alive)
  for (const event of events) source.addEventListener(event, receive)
  return source
}

/** Returns what ends it. */
function listen(all: [EventTarget, string, () => void][]): () => void {
  for (const [target, event, act] of all) target.addEventListener(event, act)
  return () => {
    for (const [target, event, act] of all) target.removeEventListener(event, act)
  }
}
