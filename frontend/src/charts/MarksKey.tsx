import type { Mark, MarkKind } from "@/lib/charts/marks"
import classes from "./MarksKey.module.css"

const WORDS: Record<MarkKind, string> = { checkpoint: "checkpoint", failure: "failure", restart: "restart" }

/** Names the lines that mark moments, those that are there. */
export function MarksKey({ marks }: { marks: readonly Mark[] }) {
  const kinds = (Object.keys(WORDS) as MarkKind[]).filter((kind) => marks.some((mark) => mark.kind === kind))
  return kinds.map((kind) => (
    <span key={kind} className={classes.mark}>
      <i data-kind={kind} aria-hidden /> {WORDS[kind]}
    </span>
  ))
}
