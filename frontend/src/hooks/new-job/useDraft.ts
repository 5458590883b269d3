import { createContext, useContext } from "react"
import type { BundledArgument } from "@/client"
import { getIn, pointer, type Path } from "@/lib/job-file/draft"

export interface DraftForm {
  value: Record<string, unknown>
  set: (path: Path, value: unknown) => void
  /** The YAML was changed last, so it has the words of all findings at its lines, and the fields are only marked. */
  quiet: boolean
  /** By JSON pointer into the job file. */
  faults: ReadonlyMap<string, string>
  warnings: ReadonlyMap<string, string>
  /** Arguments that `workload.args` may hold; null: not known. */
  arguments: readonly BundledArgument[] | null
}

export const DraftContext = createContext<DraftForm | null>(null)

/** Findings at a field. true: marked only. */
export interface Said {
  fault: string | boolean | undefined
  warning: string | undefined
}

/** One place in the job file: what stands there, what is wrong with it, and how to change it. */
export function useDraftField(path: Path): Said & { value: unknown; set: (value: unknown) => void } {
  const form = useContext(DraftContext)
  if (!form) throw new Error("A field of the job file stands outside its DraftContext")
  const fault = form.faults.get(pointer(path))
  return {
    value: getIn(form.value, path),
    fault: form.quiet ? fault !== undefined : fault,
    warning: form.quiet ? undefined : form.warnings.get(pointer(path)),
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
  return [...(form?.quiet ? [] : (form?.faults ?? []))].flatMap(([at, message]) => {
    const key = at.startsWith(below) ? at.slice(below.length) : ""
    return key === "" || key.includes("/") || keys.includes(key) ? [] : [message]
  })
}

/** The whole value of the file, and the pointers of all findings about it. */
export function useDraftWhole(): { value: Record<string, unknown>; marked: readonly string[] } {
  const form = useContext(DraftContext)
  return { value: form?.value ?? {}, marked: [...(form?.faults.keys() ?? []), ...(form?.warnings.keys() ?? [])] }
}

/** Sets any place of the file. */
export function useDraftSetter(): (path: Path, value: unknown) => void {
  const form = useContext(DraftContext)
  if (!form) throw new Error("A control of the job file stands outside its DraftContext")
  return form.set
}
