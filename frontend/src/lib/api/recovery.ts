import type { Query } from "@tanstack/react-query"
import { Problem } from "@/client"

/** Pause before a question that failed is asked again by itself. Its last attempt took some seconds, too. */
const AGAIN_MS = 5_000

/** True if the platform may answer otherwise later: it could not be reached, or something in it failed. */
export function mayRecover(error: unknown): boolean {
  return !(error instanceof Problem) || error.status >= 500 || error.status === 429
}

/** Milliseconds until a question is asked again: `pause`, or a moment if it failed and may recover. */
export function againAfter(pause: number | false | (() => number | false)) {
  return ({ state }: Pick<Query, "state">): number | false => {
    const own = typeof pause === "function" ? pause() : pause
    return own === false && state.status === "error" && mayRecover(state.error) ? AGAIN_MS : own
  }
}
