/** Places of a job's page that the tour leads to; their panels carry the name as `data-tour`. */
export type TourStop = "time" | "staleness" | "ledger" | "checkpoints"

interface Step {
  stop: TourStop
  /** End of the address of its tab; empty: the first one. */
  tab: string
  title: string
  text: string
}

/** Steps through what few other platforms have, in the order in which questions come up. */
export const STEPS: readonly Step[] = [
  {
    stop: "time",
    tab: "",
    title: "Time breakdown",
    text: "A bar for each worker and server, all on one time axis. Compute is useful work. Wait is time at the gate and for responses. If workers wait long under bsp, one of them is slow; asp replaces the wait with staleness.",
  },
  {
    stop: "staleness",
    tab: "staleness",
    title: "Staleness",
    text: "Other workers change the model while a worker computes its gradient. Staleness counts those changes. The map shows it for each worker over time: a slow worker is a row of strong colour. Drag over cells to see their range on all charts.",
  },
  {
    stop: "ledger",
    tab: "staleness",
    title: "Push ledger",
    text: "Every push has one outcome: applied, deferred, dropped, pending or rolled back. For each worker the outcomes add up to its pushes, so no gradient disappears. A dropped push has a reason: too stale, late for its quorum, or not finite.",
  },
  {
    stop: "checkpoints",
    tab: "files",
    title: "Checkpoints",
    text: "A checkpoint is the state of the whole job between two rounds, with a part of each process. After a failure the next attempt resumes from the last one. Another job can begin from any of them: write start_from into its job file.",
  },
]

/** The number of the step that an address names, or null. */
export function stepOf(name: string | null): number | null {
  const found = STEPS.findIndex(({ stop }) => stop === name)
  return found < 0 ? null : found
}
