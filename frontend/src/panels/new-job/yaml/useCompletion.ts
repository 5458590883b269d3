import { useId, useState, type KeyboardEvent, type RefObject } from "react"
import type { Completion, Completions } from "@/lib/job-file/completion"

const NONE: Completion[] = []

/** Completions at the caret of a text area: while one types a word, or by Ctrl+Space. Enter or Tab takes one, Escape closes. */
export function useCompletion(area: RefObject<HTMLTextAreaElement | null>, complete: (caret: number) => Completions) {
  const id = useId()
  const [caret, setCaret] = useState<number | null>(null)
  const [moved, setMoved] = useState(0)
  const { from, options } = caret === null ? { from: 0, options: NONE } : complete(caret)
  const active = Math.min(moved, options.length - 1)
  const close = () => setCaret(null)
  const open = (asked: boolean) => {
    const at = area.current!.selectionStart
    setMoved(0)
    setCaret(asked || /[\w{,: ]$/.test(area.current!.value.slice(0, at)) ? at : null)
  }
  const take = ({ insert }: Completion) => {
    const element = area.current!
    const column = from - (element.value.lastIndexOf("\n", from - 1) + 1)
    element.setSelectionRange(from, element.selectionStart)
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- nothing else leaves the change on the browser's stack of undo
    document.execCommand("insertText", false, insert.endsWith("\n") ? `${insert}${" ".repeat(column + 2)}` : insert)
    if (insert.endsWith(" ")) open(true) // a key: its values
    else close()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === " " && event.ctrlKey) open(true)
    else if (options.length === 0) return
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") setMoved((active + (event.key === "ArrowDown" ? 1 : options.length - 1)) % options.length)
    else if (event.key === "Enter" || event.key === "Tab") take(options[active]!)
    else if (event.key === "Escape") close()
    else {
      if (/^(Arrow|Home|End|Page)/.test(event.key)) close()
      return
    }
    event.preventDefault()
    event.stopPropagation()
  }
  const shown = options.length > 0
  return {
    area: {
      onKeyDown,
      onBlur: close,
      onMouseDown: close,
      "aria-autocomplete": "list" as const,
      "aria-controls": shown ? id : undefined,
      "aria-activedescendant": shown ? `${id}-${active}` : undefined,
    },
    /** A character typed by hand; text that is pasted or taken from the list asks for nothing. */
    onType: ({ inputType, data }: InputEvent) => (inputType === "deleteContentBackward" && shown) || (inputType === "insertText" && data?.length === 1 && /\w/.test(data)) ? open(false) : close(),
    list: { id, options, active, place: shown ? placeOf(area.current!, caret!) : { left: 0, top: 0 }, onTake: take },
  }
}

/** Below the caret, by the lines that lie under the area. */
function placeOf(area: HTMLTextAreaElement, caret: number): { left: number; top: number } {
  const lines = area.value.slice(0, caret).split("\n")
  const line = area.previousElementSibling?.children[lines.length - 1] as HTMLElement | undefined
  const left = Math.min(54 + lines.at(-1)!.length * 7.8, area.clientWidth - 330)
  return { left: Math.max(8, left), top: (line ? line.offsetTop + line.offsetHeight : 0) + 4 }
}
