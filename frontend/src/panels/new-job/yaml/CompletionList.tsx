import { useEffect, useRef } from "react"
import type { Completion } from "@/lib/job-file/completion"
import classes from "./LinedText.module.css"

export interface CompletionListProps {
  id: string
  options: readonly Completion[]
  active: number
  /** Where the caret is, in the text's own pixels. */
  place: { left: number; top: number }
  onTake: (option: Completion) => void
}

/** Completions at the caret. The text keeps the focus. */
export function CompletionList({ id, options, active, place, onTake }: CompletionListProps) {
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" }) // new browsers return a promise, which is no clean-up
  }, [active, options])
  if (options.length === 0) return null
  return (
    <ul ref={list} id={id} role="listbox" aria-label="Completions" className={classes.offers} style={place}>
      {options.map((option, at) => (
        <li
          key={option.label}
          id={`${id}-${at}`}
          role="option"
          aria-selected={at === active}
          onMouseDown={(event) => {
            event.preventDefault() // the text keeps the focus
            onTake(option)
          }}
        >
          {option.label}
          {option.help && <small>{option.help}</small>}
        </li>
      ))}
    </ul>
  )
}
