import type { JobEvent } from "@/client"

export interface EventFilter {
  /** Any of these; none: all. */
  kinds: readonly string[]
  /** The label of the process that an event is about. */
  process: string | null
  text: string
}

const LABEL = /^(worker-\d+|server-\d+|evaluator)$/

/** The process that an event is about, or that told of it. */
export function processOf({ data, actor }: JobEvent): string | null {
  const { label } = data
  return typeof label === "string" ? label : LABEL.test(actor) ? actor : null
}

export function isFiltered({ kinds, process, text }: EventFilter): boolean {
  return kinds.length > 0 || process !== null || text !== ""
}

/** Letters count alike, small or large; a text is looked for in the message and in who did it. */
export function fits(event: JobEvent, { kinds, process, text }: EventFilter): boolean {
  const said = `${event.message} ${event.actor}`.toLowerCase()
  return (kinds.length === 0 || kinds.includes(event.kind)) && (process === null || processOf(event) === process) && said.includes(text.toLowerCase())
}

/** How many events each choice would show beside what else is chosen, those that are there by name; a chosen one even if it shows nothing. */
export function choices(events: readonly JobEvent[], filter: EventFilter): { kinds: Map<string, number>; processes: Map<string, number> } {
  const kinds = count(events, ({ kind }) => kind, (event) => fits(event, { ...filter, kinds: [] }), filter.kinds)
  const processes = count(events, processOf, (event) => fits(event, { ...filter, process: null }), filter.process === null ? [] : [filter.process])
  return { kinds, processes }
}

function count(events: readonly JobEvent[], of: (event: JobEvent) => string | null, counts: (event: JobEvent) => boolean, chosen: readonly string[]) {
  const found = new Map<string, number>(chosen.map((value) => [value, 0]))
  for (const event of events) {
    const value = of(event)
    if (value !== null) found.set(value, (found.get(value) ?? 0) + Number(counts(event)))
  }
  return new Map([...found].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true })))
}
