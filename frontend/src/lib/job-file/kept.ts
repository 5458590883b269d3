/** The draft of a new job, kept in this browser until it is submitted: a reload, or a slip of the hand, loses nothing. */
import type { Code } from "@/lib/upload/bundle"

export interface Kept {
  text: string
  code: Code | null
  /** How many files were selected and not sent yet. A browser does not keep those. */
  chosen?: number
}

const PREFIX = "gradstream.new-job:"

/** `place`: which beginning it is of. */
export function readKept(place: string): Kept | null {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(PREFIX + place) ?? "null")
    return isKept(found) ? found : null
  } catch {
    return null // storage is denied, or holds what another version wrote
  }
}

export function keep(place: string, kept: Kept | null) {
  try {
    if (kept) localStorage.setItem(PREFIX + place, JSON.stringify(kept))
    else localStorage.removeItem(PREFIX + place)
  } catch {
    // storage is denied or full: then a reload begins anew
  }
}

function isKept(found: unknown): found is Kept {
  return typeof found === "object" && found !== null && "text" in found && typeof found.text === "string" && "code" in found
}
