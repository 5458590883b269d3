import { useDebouncedValue } from "@mantine/hooks"
import { useEffect, useMemo, useRef, useState } from "react"
import { Problem, type BundledWorkload, type Fault, type JobWarning, type ModelSize } from "@/client"
import { useSubmitJob } from "@/hooks/job/useJob"
import { newKey } from "@/lib/api/key"
import { emptyDraft, getIn, readDraft, setInDraft, type Draft, type Path } from "@/lib/job-file/draft"
import { keep, readKept, type Kept } from "@/lib/job-file/kept"
import { tooMuch, type Code, type Picked, type Sources } from "@/lib/upload/bundle"
import { NO_ENTRYPOINT } from "./useBeginning"
import { useCode } from "./useCode"
import { usePlan } from "./usePlan"
import { useValidation } from "./useValidation"

const NOTHING: JobWarning[] = []
const NO_WORKLOADS: BundledWorkload[] = []
const ENTRYPOINT = ["workload", "entrypoint"] as const

/** A job while it is put together: its file, its code, and what the server says about them. `place`: what the draft is kept under. */
export function useNewJob(initial: Kept, place: string) {
  const [before, setBefore] = useState(() => readKept(place))
  const { draft, setDraft, typedIn, writeText, writeValue } = useTypedDraft((before ?? initial).text)
  const { code, picked, take, pick, send, upload } = useCode((before ?? initial).code)
  const [size, setSize] = useState<ModelSize | null>(null)
  const submission = useSubmitJob()
  const checked = useChecked(draft, picked ? null : (code?.hash ?? null), picked?.sources ?? null, submission.error)
  const key = useKey()
  const chosen = picked?.files.length ?? before?.chosen ?? 0
  const differs = draft.text !== initial.text || code?.hash !== initial.code?.hash || chosen > 0
  useKeeping(place, differs && !submission.isSuccess, draft.text, code, chosen)

  const problem = useMemo(() => (picked ? tooMuch(picked.files) : null), [picked])
  const { workloads } = checked
  const missing = getIn(draft.value, ENTRYPOINT) === NO_ENTRYPOINT && workloads.length === 1 ? workloads[0]!.entrypoint : null
  if (missing) setDraft(setInDraft(draft, ENTRYPOINT, missing)) // once: then it is named

  const forgetSelected = () => setBefore((kept) => kept && { ...kept, chosen: 0 })
  /** Any change may repair the reason of a refusal. */
  const changing = <Argument>(change: (argument: Argument) => void) => (argument: Argument) => {
    submission.reset()
    change(argument)
  }
  return {
    ...checked,
    /** It can be submitted as it is. */
    ready: checked.ready && problem === null,
    /** Why the selected files cannot be one bundle. */
    tooMuch: problem,
    draft,
    hasCode: picked !== null || code !== null,
    code,
    picked,
    setCode: changing<Code | null>((next) => {
      forgetSelected()
      take(next)
    }),
    setPicked: changing<Picked | null>((next) => {
      forgetSelected()
      pick(next)
    }),
    send,
    upload,
    typedIn,
    /** A whole file: opened, or found in the code. */
    setText: changing((text: string) => setDraft((now) => readDraft(text, now))),
    typeText: changing(writeText),
    setValue: (path: Path, value: unknown) => changing(() => writeValue(path, value))(value),
    size,
    setSize,
    plan: usePlan(checked.ready ? checked.spec : undefined, code?.hash ?? null, size),
    /** Something was typed that is not submitted yet. */
    differs,
    /** It goes on where an earlier visit ended. */
    resumed: before !== null,
    /** How many files were selected before a reload and have to be selected again. */
    toSelectAgain: picked ? 0 : chosen,
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

/** The draft, and the side that changed it last, which has the words of its mistakes. A text that cannot be read has no form. */
function useTypedDraft(first: string) {
  const [draft, setDraft] = useState(() => readDraft(first, emptyDraft))
  const [typedIn, setTypedIn] = useState<"form" | "text">("form")
  return {
    draft,
    setDraft,
    typedIn: draft.error === null ? typedIn : "text",
    writeText: (text: string) => {
      setTypedIn("text")
      setDraft((now) => readDraft(text, now))
    },
    writeValue: (path: Path, value: unknown) => {
      setTypedIn("form")
      setDraft((now) => setInDraft(now, path, value))
    },
  }
}

function useKeeping(place: string, unsent: boolean, text: string, code: Code | null, chosen: number) {
  useEffect(() => keep(place, unsent ? { text, code, chosen } : null), [place, unsent, text, code, chosen])
}

/** Findings of the server about the text, once one stops typing. */
function useChecked({ text, error, value }: Draft, bundle: string | null, sources: Sources | null, refused: unknown) {
  const broken = error !== null
  const [settled] = useDebouncedValue(text, 300)
  const validation = useValidation(settled, bundle, sources)
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
    /** The server has seen exactly this text and this code, and takes both. */
    ready: current && data?.ready === true,
    /** Workloads in the code. */
    workloads: (validation.isPlaceholderData ? null : validation.data?.workloads) ?? NO_WORKLOADS,
    /** The arguments of the workload that is named, where they are known. */
    arguments: validation.data?.workloads?.find(({ entrypoint }) => entrypoint === getIn(value, ENTRYPOINT))?.arguments ?? null,
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

/** Refusals of the server at the submit, with pointers into the job file; `/bundle` is about the code. */
function refusal(error: unknown): Fault[] {
  if (!(error instanceof Problem)) return []
  return error.faults.map(({ pointer, message }) => ({ pointer: pointer.replace(/^\/spec(?=\/|$)/, ""), message }))
}

function byPointer(found: readonly { pointer: string; message: string }[]): ReadonlyMap<string, string> {
  const all = new Map<string, string>()
  for (const { pointer, message } of found) all.set(pointer, [all.get(pointer), message].filter(Boolean).join(" "))
  return all
}
