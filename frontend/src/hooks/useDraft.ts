import { createContext, useContext } from "react"
import { getIn, pointer, type Path } from "@/lib/draft"

export interface DraftForm {
  value: Record<string, unknown>
  set: (path: Path, value: unknown) => void
  /** By JSON pointer into the job file. */
  faults: ReadonlyMap<string, string>
}

export const DraftContext = createContext<DraftForm | null>(null)

/** One place in the job file: what stands there, what is wrong with it, and how to change it. */
export function useDraftField(path: Path) {
  const form = useContext(DraftContext)
  if (!form) throw new Error("A field of the job file stands outside its DraftContext")
  return {
    value: getIn(form.value, path),
    fault: form.faults.get(pointer(path)),
    set: (value: unknown) => form.set(path, value),
  }
}
