import type { JobEvent } from "@/client"

/** A moment that charts over time mark. */
export interface Mark {
  /** Seconds since the epoch. */
  x: number
  kind: MarkKind
  text: string
}

export type MarkKind = "checkpoint" | "failure" | "restart"

/** Checkpoints, failures of processes, and restarts of processes or of the job. */
export function marksOf(events: readonly JobEvent[]): Mark[] {
  return events.flatMap((event) => {
    const kind = kindOf(event)
    return kind === null ? [] : [{ x: Date.parse(event.time) / 1000, kind, text: event.message }]
  })
}

function kindOf({ kind, data: { number, resumed_from, reason, incarnation } }: JobEvent): MarkKind | null {
  if (kind === "checkpoint") return "checkpoint"
  if (kind === "attempt") return resumed_from !== undefined && typeof number === "number" && number > 1 ? "restart" : null
  if (kind !== "process") return null
  if (typeof reason === "string") return reason === "done" || reason === "stopped" ? null : "failure"
  return typeof incarnation === "number" && incarnation > 0 ? "restart" : null
}

/** The mark nearest to `x`, at most `reach` away. */
export function markAt(marks: readonly Mark[], x: number, reach: number): Mark | null {
  const near = marks.filter((mark) => Math.abs(mark.x - x) <= reach)
  return near.reduce<Mark | null>((best, mark) => (best && Math.abs(best.x - x) <= Math.abs(mark.x - x) ? best : mark), null)
}
