import { useDebouncedValue } from "@mantine/hooks"
import { useState } from "react"
import type { Bundle, Fault, JobSpec } from "@/client"
import { emptyDraft, readDraft, setInDraft, type Path } from "@/lib/draft"
import { newKey } from "@/lib/key"
import { useSubmitJob } from "./queries/useJob"
import { useValidation } from "./queries/useValidation"

export interface Code {
  hash: string
  /** Where it comes from, in words. */
  origin: string
  files: Bundle["files"]
}

/** A job while it is put together: its file, its code, and what the server says about them. */
export function useNewJob(initial: { text: string; code: Code | null }) {
  const [draft, setDraft] = useState(() => readDraft(initial.text, emptyDraft))
  const [code, setCode] = useState(initial.code)
  const [settled] = useDebouncedValue(draft.text, 300)
  const validation = useValidation(settled)
  const submission = useSubmitJob()
  const current = settled === draft.text && !validation.isPlaceholderData
  const faults = draft.error ? [] : (validation.data?.errors ?? [])
  return {
    draft,
    code,
    setCode,
    setText: (text: string) => setDraft((before) => readDraft(text, before)),
    setValue: (path: Path, value: unknown) => setDraft((before) => setInDraft(before, path, value)),
    faults,
    faultsByPointer: byPointer(faults),
    /** Limits that the file is over; it can be submitted all the same. */
    warnings: draft.error ? [] : (validation.data?.warnings ?? []),
    notes: draft.error ? [] : (validation.data?.notes ?? []),
    validation,
    /** The server has seen exactly this text and takes it. */
    ready: current && draft.error === null && validation.data?.valid === true,
    submission,
    submit: () => submission.mutateAsync({ spec: validation.data!.spec as JobSpec, bundle: code?.hash ?? null, key: newKey() }),
  }
}

export type NewJob = ReturnType<typeof useNewJob>

function byPointer(faults: readonly Fault[]): ReadonlyMap<string, string> {
  return new Map(faults.map(({ pointer, message }) => [pointer, message]))
}
