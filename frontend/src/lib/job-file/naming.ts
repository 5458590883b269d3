import { getIn, readDraft, setInDraft } from "./draft"

/** `MAX_NAME` of the job file. */
const MAX_NAME = 63
const COUNTED = /^(.+)-(\d{1,4})$/

/** The words by which jobs are looked for that may share a name's stem. */
export function stemOf(name: string): string {
  return COUNTED.exec(name)?.[1] ?? name
}

/** "digits-2" after "digits", "digits-3" after "digits-2": the next number that none of these names has. A number counts runs only where
 * a job has the name without it: "resnet-50" is followed by "resnet-50-2". */
export function nextName(name: string, taken: ReadonlySet<string>): string {
  const stem = taken.has(stemOf(name)) ? stemOf(name) : name
  for (let run = 2; ; run++) {
    const end = `-${run}`
    const next = `${stem.slice(0, MAX_NAME - end.length)}${end}`
    if (next !== name && !taken.has(next)) return next
  }
}

/** The job file with the next name; one without a name, or that cannot be read, stays as it is. */
export function withNextName(text: string, taken: ReadonlySet<string>): string {
  const draft = readDraft(text)
  const name = getIn(draft.value, ["name"])
  return draft.error === null && typeof name === "string" ? setInDraft(draft, ["name"], nextName(name, taken)).text : text
}
