import { memo, type RefObject } from "react"
import { piecesOf } from "@/lib/job-file/colours"
import type { Completions } from "@/lib/job-file/completion"
import { spanOf } from "@/lib/job-file/places"
import { CompletionList } from "./CompletionList"
import classes from "./LinedText.module.css"
import { useCompletion } from "./useCompletion"

export interface Mark {
  line: number
  kind: "bad" | "warned"
  message: string
}

interface LinedTextProps {
  value: string
  onChange: (text: string) => void
  label: string
  marks: readonly Mark[]
  /** The id of what tells the marks in words. */
  describedBy: string | undefined
  area: RefObject<HTMLTextAreaElement | null>
  /** Completions at a place of the text. */
  complete: (caret: number) => Completions
}

/** A text area over its lines, which have numbers, colours and marks. Both wrap long lines at the same places, as they share their type and width. */
export function LinedText({ value, onChange, label, marks, describedBy, area, complete }: LinedTextProps) {
  const offers = useCompletion(area, complete)
  const kinds = new Map([...marks].reverse().map(({ line, kind }) => [line, kind])) // of two on a line the first counts
  return (
    <div className={classes.frame}>
      <div className={classes.sheet}>
        <div className={classes.lines} aria-hidden>
          {value.split("\n").map((line, at) => (
            <Line key={at} line={line} mark={kinds.get(at + 1)} />
          ))}
        </div>
        <textarea
          ref={area}
          className={classes.text}
          aria-label={label}
          aria-invalid={marks.some(({ kind }) => kind === "bad")}
          aria-describedby={describedBy}
          {...offers.area}
          value={value}
          onChange={(event) => {
            onChange(event.currentTarget.value)
            offers.onType(event.nativeEvent as InputEvent)
          }}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
        />
        <CompletionList {...offers.list} />
      </div>
    </div>
  )
}

const Line = memo(function Line({ line, mark }: { line: string; mark: Mark["kind"] | undefined }) {
  return (
    <div data-mark={mark}>
      {piecesOf(line).map(({ text, kind }, at) => (
        <span key={at} data-kind={kind}>
          {text}
        </span>
      ))}
    </div>
  )
})

/** Selects a line of the area, from 1, and shows it. */
export function goToLine(area: HTMLTextAreaElement, line: number) {
  area.focus({ preventScroll: true })
  area.setSelectionRange(...spanOf(area.value, line))
  area.previousElementSibling?.children[line - 1]?.scrollIntoView({ block: "nearest" })
}
