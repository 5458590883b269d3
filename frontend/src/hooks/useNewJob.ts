import { useDebouncedValue } from "@mantine/hooks"
import { useEffect, useMemo, useRef, useState } from "react"
import { Problem, type Fault, type JobWarning, type ModelSize } from "@/client"
import type { Code, Picked } from "@/lib/bundle"
import { emptyDraft, readDraft, setInDraft, type Path } from "@/lib/draft"
import { newKey } from "@/lib/key"
import { keep, readKept, type Kept } from "@/lib/kept"
import { useSubmitJob } from "./queries/useJob"
import { usePlan } from "./queries/usePlan"
import { useValidation } from "./queries/useValidation"
import { useCode } from "./useCode"

const NOTHING: JobWarning[] = []

/** A job while it is put together: its file, its code, and what the server says about them. `place`: what the draft is kept under. */
export function useNewJob(initial: Kept, place: string) {
  const [before, setBefore] = useState(() => readKept(place))
  const [draft, setDraft] = useState(() => readDraft((before ?? initial).text, emptyDraft))
  const { code, picked, take, pick, send, upload } = useCode((before ?? initial).code)
  const [size, setSize] = useState<ModelSize | null>(null)
  const submission = useSubmitJob()
  const checked = useChecked(draft.text, draft.error !== null, submission.error)
  const key = useKey()
  const chosen = picked?.files.length ?? before?.chosen ?? 0
  const differs = draft.text !== initial.text || code?.hash !== initial.code?.hash || chosen > 0
  useEffect(
    () => keep(place, differs && !submission.isSuccess ? { text: draft.text, code, chosen } : null),
    [place, differs, submission.isSuccess, draft.text, code, chosen],
  )

  const forgetChosen = () => setBefore((kept) => kept && { ...kept, chosen: 0 })
  /** What the server refused may be repaired by any change. */
  const changing = <Argument>(change: (argument: Argument) => void) => (argument: Argument) => {
    submission.reset()
    change(argument)
  }
  return {
    ...checked,
    draft,
    code,
    picked,
    setCode: changing<Code | null>((next) => {
      forgetChosen()
      take(next)
    }),
    setPicked: changing<Picked | null>((next) => {
      forgetChosen()
      pick(next)
    }),
    send,
    upload,
    setText: changing((text: string) => setDraft((now) => readDraft(text, now))),
    setValue: (path: Path, value: unknown) => changing(() => setDraft((now) => setInDraft(now, path, value)))(value),
    size,
    setSize,
    plan: usePlan(checked.ready ? checked.spec : undefined, code?.hash ?? null, size),
    /** Something was typed that is not submitted yet. */
    differs,
    /** It goes on where an earlier visit ended. */
    resumed: before !== null,
    /** How many files were chosen before a reload and have to be chosen again. */
    toChooseAgain: picked ? 0 : chosen,
    startOver: changing(() => {
      setBefore(null)
      setDraft(readDraft(initial.text))
      take(initial.code)
    }),
    submission,
    submit: async () => {
      const bundle = picked ? (await send(picked)).hash : (code?.hash ?? null)
      return submission.mutateAsync({ spec: checked.spec!, source: draft.text, bundle, key: key(`${draft.text} ${bundle}`) })
    },
  }
}

export type NewJob = ReturnType<typeof useNewJob>

/** What the server says about the text, once one stops typing. */
function useChecked(text: string, broken: boolean, refused: unknown) {
  const [settled] = useDebouncedValue(text, 300)
  const validation = useValidation(settled)
  const current = settled === text && !validation.isPlaceholderData
  const data = broken ? undefined : validation.data
  const faults = useMemo(() => (broken ? [] : [...(data?.errors ?? []), ...refusal(refused)]), [broken, data, refused])
  const warnings = data?.warnings ?? NOTHING
  return {
    validation,
    faults,
    faultsByPointer: useMemo(() => byPointer(faults), [faults]),
    /** Limits that the file is over; it can be submitted all the same. */
    warnings,
    warningsByPointer: useMemo(() => byPointer(warnings), [warnings]),
    notes: data?.notes ?? NOTHING,
    spec: data?.spec ?? undefined,
    /** The server has seen exactly this text and takes it. */
    ready: current && data?.valid === true,
  }
}

/** A key for each thing that is submitted: who tries again after a lost answer gets the same job. */
function useKey() {
  const last = useRef({ of: "", key: "" })
  return (of: string) => {
    if (last.current.of !== of) last.current = { of, key: newKey() }
    return last.current.key
  }
}

/** What the server refused at the submit, with pointers into the job file; `/bundle` is about the code. */
function refusal(error: unknown): Fault[] {
  if (!(error instanceof Problem)) return []
  return error.faults.map(({ pointer, message }) => ({ pointer: pointer.replace(/^\/spec(?=\/|$)/, ""), message }))
}

function byPointer(found: readonly { pointer: string; message: string }[]): ReadonlyMap<string, string> {
  const all = new Map<string, string>()
  for (const { pointer, message } of found) all.set(pointer, [all.get(pointer), message].filter(Boolean).join(" "))
  return all
}
