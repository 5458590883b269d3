import { useDebouncedCallback } from "@mantine/hooks"
import { useState } from "react"

/** Milliseconds after the last letter. */
const DEBOUNCE_MS = 200

/** A text that is typed here and kept elsewhere: the letters stand at once, `keep` gets them in a pause. A new `kept` that comes from elsewhere replaces them. */
export function useTyped(kept: string, keep: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(kept)
  const [seen, setSeen] = useState({ kept, sent: kept })
  if (kept !== seen.kept) {
    setSeen({ kept, sent: kept })
    if (kept !== seen.sent) setText(kept)
  }
  const send = useDebouncedCallback((typed: string) => {
    setSeen((now) => ({ ...now, sent: typed }))
    keep(typed)
  }, DEBOUNCE_MS)
  const type = (typed: string) => {
    setText(typed)
    send(typed)
  }
  return [text, type]
}
