import type { JobEvent } from "@/client"
import { readable, toneOf, type Tone } from "@/lib/status"

export interface EventFilter {
  /** Any of these; none: all. */
  kinds: readonly string[]
  /** The label of the process that an event is about. */
  process: string | null
  text: string
}

const LABEL = /^(worker-\d+|server-\d+|peers-\d+|evaluator)$/

/** The process that an event is about, or that told of it. */
export function processOf({ data, actor }: JobEvent): string | null {
  const { label } = data
  return typeof label === "string" ? label : LABEL.test(actor) ? actor : null
}

/** Without the names that only programs use. */
export function messageOf({ message, data: { reason } }: JobEvent): string {
  return typeof reason === "string" ? message.replace(reason, readable(reason)) : message
}

/** "user:ada" and "node:vm" as people say them. */
export function actorName(actor: string): string {
  const [kind, name] = actor.split(/:(.*)/s)
  return name === undefined ? actor : kind === "user" ? name : `${kind} ${name}`
}

/** Tone for readers who look for trouble: warnings and their ends stand out, and the end that a job comes to. */
export function toneOfEvent({ kind, data: { to } }: JobEvent): Tone {
  if (kind === "warning") return "wait"
  if (kind === "resolved") return "good"
  const tone = kind === "status" && typeof to === "string" ? toneOf(to) : "calm"
  return tone === "good" || tone === "bad" ? tone : "calm"
}

export interface LastWords {
  label: string
  lines: string
}

/** Last lines of the process that a job failed for, if it wrote anything. */
export function lastWords(events: readonly JobEvent[]): LastWords | null {
  const { process, log_tail } = events.findLast(({ data }) => "log_tail" in data)?.data ?? {}
  return typeof process === "string" && typeof log_tail === "string" && log_tail ? { label: process, lines: log_tail } : null
}

/** So many events in a row that say the same but for their numbers stand as one: checkpoints would push what happened out of sight. */
const ALIKE = 3

/** Runs of events that say the same, in the order given; each event alone where a run is short. */
export function gathered(events: readonly JobEvent[]): [JobEvent, ...JobEvent[]][] {
  const runs: [JobEvent, ...JobEvent[]][] = []
  for (const event of events) {
    const run = runs.at(-1)
    if (run && shapeOf(run[0]) === shapeOf(event)) run.push(event)
    else runs.push([event])
  }
  return runs.flatMap((run) => (run.length < ALIKE ? run.map((event): [JobEvent] => [event]) : [run]))
}

function shapeOf({ kind, message }: JobEvent): string {
  return `${kind} ${message.replace(/\d+/g, "#")}`
}

export function isFiltered({ kinds, process, text }: EventFilter): boolean {
  return kinds.length > 0 || process !== null || text !== ""
}

/** Letters count alike, small or large; a text is looked for in the message and in who did it. */
export function fits(event: JobEvent, { kinds, process, text }: EventFilter): boolean {
  const said = `${event.message} ${event.actor}`.toLowerCase()
  return (kinds.length === 0 || kinds.includes(event.kind)) && (process === null || processOf(event) === process) && said.includes(text.toLowerCase())
}

/** How many events each choice would show beside what else is selected, those that are there by name; a selected one even if it shows nothing. */
export function choices(events: readonly JobEvent[], filter: EventFilter): { kinds: Map<string, number>; processes: Map<string, number> } {
  const kinds = count(events, ({ kind }) => kind, (event) => fits(event, { ...filter, kinds: [] }), filter.kinds)
  const processes = count(events, processOf, (event) => fits(event, { ...filter, process: null }), filter.process === null ? [] : [filter.process])
  return { kinds, processes }
}

function count(events: readonly JobEvent[], of: (event: JobEvent) => string | null, counts: (event: JobEvent) => boolean, selected: readonly string[]) {
  const found = new Map<string, number>(selected.map((value) => [value, 0]))
  for (const event of events) {
    const value = of(event)
    if (value !== null) found.set(value, (found.get(value) ?? 0) + Number(counts(event)))
  }
  return new Map([...found].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true })))
}
