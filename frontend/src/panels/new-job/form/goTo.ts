import { fieldId } from "@/lib/job-file/sections"

/** Focuses the input of a place in the job file, or of the nearest group around it; false: none is on the page. */
export function goToField(keys: readonly string[]): boolean {
  for (let depth = keys.length; depth >= 0; depth--) {
    const found = document.getElementById(fieldId(keys.slice(0, depth)))
    if (!found) continue
    found.focus({ preventScroll: true })
    found.scrollIntoView({ block: "center" })
    return depth === keys.length
  }
  return false
}
