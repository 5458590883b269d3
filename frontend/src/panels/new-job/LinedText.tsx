import { useRef, type RefObject } from "react"
import classes from "./LinedText.module.css"

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
  describedBy: string
  area: RefObject<HTMLTextAreaElement | null>
}

const MIN_ROWS = 10
const MAX_ROWS = 18

/** A text area with the numbers of its lines, the marked ones coloured. */
export function LinedText({ value, onChange, label, marks, describedBy, area }: LinedTextProps) {
  const gutter = useRef<HTMLDivElement>(null)
  const count = value.split("\n").length
  const kinds = new Map([...marks].reverse().map(({ line, kind }) => [line, kind])) // of two on a line the first counts
  return (
    <div className={classes.frame}>
      <div className={classes.gutter} ref={gutter} aria-hidden>
        {Array.from({ length: count }, (_, at) => (
          <div key={at} data-mark={kinds.get(at + 1)}>
            {at + 1}
          </div>
        ))}
      </div>
      <textarea
        ref={area}
        className={classes.text}
        aria-label={label}
        aria-invalid={marks.some(({ kind }) => kind === "bad")}
        aria-describedby={describedBy}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        onScroll={(event) => gutter.current && (gutter.current.scrollTop = event.currentTarget.scrollTop)}
        rows={Math.min(MAX_ROWS, Math.max(MIN_ROWS, count + 1))}
        wrap="off"
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
      />
    </div>
  )
}
