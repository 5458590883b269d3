import { createContext, useContext } from "react"
import type { BundledArgument } from "@/client"
import { getIn, pointer, type Path } from "@/lib/job-file/draft"

export interface DraftForm {
  value: Record<string, unknown>
  set: (path: Path, value: unknown) => void
  /** By JSON pointer into the job file. */
  faults: ReadonlyMap<string, string>
  warnings: ReadonlyMap<string, string>
  /** Arguments that `workload.args` may hold; null: not known. */
  arguments: readonly BundledArgument[] | null
}

export const DraftContext = createContext<DraftForm | null>(null)

/** One place in the job file: what stands there, what is wrong with it, and how to change it. */
export function useDraftField(path: Path) {
  const form = useContext(DraftContext)
  if (!form) throw new Error("A field of the job file stands outside its DraftContext")
  return {
    value: getIn(form.value, path),
    fault: form.faults.get(pointer(path)),
    warning: form.warnings.get(pointer(path)),
    set: (value: unknown) => form.set(path, value),
  }
}

/** The known keys of a map of free ones: the arguments of the workload. */
export function useKnownKeys(path: Path): readonly BundledArgument[] {
  const form = useContext(DraftContext)
  return pointer(path) === "/workload/args" ? (form?.arguments ?? []) : []
}

/** Mistakes directly below `path` in keys that no field is for: misspelt ones, with what they may mean. */
export function useStrayFaults(path: Path, keys: readonly string[]): string[] {
  const form = useContext(DraftContext)
  const below = `${pointer(path)}/`
  return [...(form?.faults ?? [])].flatMap(([at, message]) => {
    const key = at.startsWith(below) ? at.slice(below.length) : ""
    return key === "" || key.includes("/") || keys.includes(key) ? [] : [message]
  })
}

/** How many mistakes and warnings there are at or below these keys of the file. */
export function useDraftMarks(keys: readonly string[]): number {
  const form = useContext(DraftContext)
  const pointers = [...(form?.faults.keys() ?? []), ...(form?.warnings.keys() ?? [])]
  return pointers.filter((at) => keys.some((key) => at === `/${key}` || at.startsWith(`/${key}/`))).length
}
