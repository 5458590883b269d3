import { parse } from "yaml"
import { readDraft, setInDraft } from "./draft"

/** The text of a job file with values set in it that were given beside it, as in `strategy.lr=0.1`; its comments stay. */
export function withOverrides(text: string, overrides: readonly string[]): string {
  return overrides.reduce((draft, words) => {
    const [path, value] = [words.slice(0, words.indexOf("=")), words.slice(words.indexOf("=") + 1)]
    return setInDraft(draft, path.trim().split("."), parse(value))
  }, readDraft(text)).text
}
