import type { AttemptOverview, ProcessFailure, ServerLoad, WorkerLoad } from "@/client"

export interface Slice {
  name: string
  meaning: string
  seconds: number
  /** 0 to 1, of the bar. */
  share: number
}

export interface TimeBar {
  label: string
  slices: Slice[]
}

/** Phases of a worker's round, in their order. */
const OF_WORKER = [
  ["Compute", "gradients and local steps", "compute"],
  ["Data", "waiting for mini-batches", "data"],
  ["Send", "copying, encoding and sending pushes", "send"],
  ["Wait", "for responses and at the gate", "wait"],
] as const
export const OTHER = "Other"
export const APPLY = "Apply"
export const IDLE = "Idle"
export const START = "Start"
export const RECOVERING = "Recovering"
export const ENDED = "Ended"
export const SLICES: readonly string[] = [...OF_WORKER.map(([name]) => name), APPLY, RECOVERING]
/** Slices that are no work, with their looks: greys, and patterns while the process does not train yet or is gone. */
export const QUIET = { [START]: "striped", [OTHER]: "strong", [IDLE]: "pale", [ENDED]: "hatched" } as const

/** Where a worker's time went, of the seconds in which any worker trained. Measured times may overlap, and then fill the bar. */
export function workerBar(worker: WorkerLoad, seconds: number): TimeBar | null {
  const measured = OF_WORKER.map(([name, meaning, field]) => ({ name, meaning, seconds: worker[field] }))
  if (worker.seconds <= 0 && measured.every((slice) => slice.seconds === 0)) return null
  const start = { name: START, meaning: "until its first push", seconds: worker.before }
  const ended = { name: ENDED, meaning: "it has ended, and others still train", seconds: worker.ended }
  const recovering = { name: RECOVERING, meaning: "its process had ended, until the next one ran", seconds: worker.recovering }
  const sum = [...measured, start, recovering, ended].reduce((all, slice) => all + slice.seconds, 0)
  const whole = Math.max(sum, seconds)
  const other = { name: OTHER, meaning: "not measured, such as the loop itself", seconds: whole - sum }
  return { label: worker.label, slices: [...measured, start, recovering, other, ended].map((slice) => ({ ...slice, share: slice.seconds / whole })) }
}

/** How a shard spent the same time, on average. */
export function serverBar({ label, worked }: ServerLoad, seconds: number): TimeBar | null {
  if (worked === null) return null
  return {
    label,
    slices: [
      { name: APPLY, meaning: "decoding pushes and applying them to its slice of the center", seconds: worked * seconds, share: worked },
      { name: IDLE, meaning: "nothing to do", seconds: (1 - worked) * seconds, share: 1 - worked },
    ],
  }
}

export interface Span {
  attempt: number
  phase: "queued" | "starting" | "running"
  /** Milliseconds since the epoch. */
  from: number
  to: number
}

/** The phases of all attempts one after another, up to `now`. */
export function spans(attempts: readonly AttemptOverview[], now: number): Span[] {
  return attempts.flatMap(({ number, queued_at, started_at, running_at, ended_at }) => {
    const end = ended_at ? Date.parse(ended_at) : now
    const started = Date.parse(started_at)
    const running = running_at ? Date.parse(running_at) : null
    const all: Span[] = [
      { attempt: number, phase: "queued", from: Date.parse(queued_at), to: started },
      { attempt: number, phase: "starting", from: started, to: running ?? end },
    ]
    if (running !== null) all.push({ attempt: number, phase: "running", from: running, to: end })
    return all.filter(({ from, to }) => to > from)
  })
}

/** Cost of a failure, in words. `workers`: of the job. */
export function priceOf({ label, respawned, seconds, attempt }: ProcessFailure, attempts: readonly AttemptOverview[], workers: number): string {
  const paused = workers === 1 && /^(worker|peers)-/.test(label)
  if (respawned && seconds === null) return `this process is down; ${paused ? "training pauses" : "the others continue"}`
  if (respawned) return `this process was down for ${seconds?.toFixed(1)} s; ${paused ? "training paused" : "the others continued"}`
  const cost = attempts.find(({ number }) => number === attempt)?.cost
  if (!cost) return "the attempt ended, and none followed"
  const lost = [cost.seconds === null ? "the next attempt is not running yet" : `${cost.seconds.toFixed(1)} s without training`]
  if (cost.pushes > 0) lost.push(`${cost.pushes} pushes rolled back`)
  if (cost.samples) lost.push(`${Intl.NumberFormat("en").format(cost.samples)} samples trained again`)
  return lost.join(", ")
}

const LOSS = "train/loss"

/** Metrics whose curves the overview shows, of those that are measured: the loss, and the evaluation by which the job is judged, or the first. */
export function overviewCurves(names: readonly string[], main: string | null): string[] {
  const evaluated = names.filter((name) => name.startsWith("eval/")).sort()
  const evaluation = evaluated.find((name) => name === `eval/${main}`) ?? evaluated[0]
  return [...names.filter((name) => name === LOSS), ...(evaluation === undefined ? [] : [evaluation])]
}
