import type { Job, JobEvent, LogChunk, Process } from "@/client"
import type { Connection, StreamMessage } from "./stream"

/** News of a job on the stream since its page was opened, but for its metrics. Hooks read the part before once. */
export interface Feed {
  connection: Connection
  /** Someone has deleted the job. */
  gone: boolean
  job: Job
  events: readonly JobEvent[]
  processes: readonly Process[]
  logs: readonly LogChunk[]
}

export const FEED_EVENTS = ["job", "event", "process", "metrics", "log", "gone"] as const

const LOG_CHUNKS = 5000

export function emptyFeed(job: Job): Feed {
  return { connection: "connecting", gone: false, job, events: [], processes: [], logs: [] }
}

export function reduceFeed(feed: Feed, { event, data }: StreamMessage): Feed {
  switch (event) {
    case "job":
      return { ...feed, job: data as Job }
    case "event":
      return { ...feed, events: mergeBySeq(feed.events, [data as JobEvent]) }
    case "process":
      return { ...feed, processes: mergeProcesses(feed.processes, [data as Process]) }
    case "log":
      return { ...feed, logs: mergeBySeq(feed.logs, [data as LogChunk]).slice(-LOG_CHUNKS) }
    case "gone":
      return { ...feed, gone: true }
    default:
      return feed
  }
}

/** In order, each `seq` once. */
export function mergeBySeq<T extends { seq: number }>(before: readonly T[], added: readonly T[]): T[] {
  return [...new Map([...before, ...added].map((item) => [item.seq, item])).values()].sort((a, b) => a.seq - b.seq)
}

/** The later state of a process wins, whichever came first. */
export function mergeProcesses(before: readonly Process[], added: readonly Process[]): Process[] {
  const known = new Map(before.map((process) => [process.id, process]))
  for (const process of added) {
    const other = known.get(process.id)
    if (!other || other.seq <= process.seq) known.set(process.id, process)
  }
  return [...known.values()].sort(inReadingOrder)
}

const ROLES = ["worker", "peers", "server", "evaluator"]

function inReadingOrder(a: Process, b: Process): number {
  return (
    b.attempt - a.attempt || ROLES.indexOf(a.role) - ROLES.indexOf(b.role) || a.rank - b.rank || b.incarnation - a.incarnation
  )
}
