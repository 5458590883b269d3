import { Button, FileButton, UnstyledButton } from "@mantine/core"
import { IconFileText } from "@tabler/icons-react"
import { useId, useMemo, type RefObject } from "react"
import type { Fault, JobWarning } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { Panel } from "@/components/page/Panel"
import { completionsAt } from "@/lib/job-file/completion"
import type { Draft } from "@/lib/job-file/draft"
import { linesOf } from "@/lib/job-file/places"
import type { Field } from "@/lib/job-file/schema"
import { goToLine, LinedText, type Mark } from "./LinedText"
import classes from "./LinedText.module.css"

interface YamlPanelProps {
  draft: Draft
  fields: readonly Field[]
  faults: readonly Fault[]
  warnings: readonly JobWarning[]
  /** The findings have their words here, not at the form's fields. */
  telling: boolean
  onText: (text: string) => void
  onFile: (text: string) => void
  area: RefObject<HTMLTextAreaElement | null>
}

export function YamlPanel({ draft, fields, faults, warnings, telling, onText, onFile, area }: YamlPanelProps) {
  const marks = useMarks(draft, faults, warnings)
  const id = useId()
  return (
    <Panel
      title="Job file"
      subtitle="The form as YAML, for gradstream submit and version control"
      actions={
        <>
          <CopyIcon value={draft.text} what="the job file" />
          <FileButton onChange={(file) => file && void file.text().then(onFile)} accept=".yaml,.yml" inputProps={{ "aria-label": "A job file" }}>
            {(props) => (
              <Button {...props} size="xs" variant="default" leftSection={<IconFileText size={14} />}>
                Open
              </Button>
            )}
          </FileButton>
        </>
      }
    >
      <LinedText
        value={draft.text}
        onChange={onText}
        label="Job file as YAML"
        marks={marks}
        describedBy={telling && marks.length > 0 ? id : undefined}
        area={area}
        complete={(at) => completionsAt(draft.text, at, fields, draft.value)}
      />
      {telling && marks.length > 0 && (
        <ul id={id} className={classes.marks} aria-label="Problems by line">
          {marks.map(({ line, kind, message }) => (
            <li key={`${line} ${message}`} data-mark={kind}>
              <UnstyledButton onClick={() => area.current && goToLine(area.current, line)}>Line {line}</UnstyledButton>
              <span>{message}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

/** Mistakes and warnings at their lines, from the top; of a file that cannot be read, why. Findings that belong to no line stand elsewhere. */
function useMarks({ text, error, errorLine }: Draft, faults: readonly Fault[], warnings: readonly JobWarning[]): Mark[] {
  return useMemo(() => {
    if (error) return [{ line: errorLine ?? 1, kind: "bad", message: error }]
    const said = [...faults.map((fault) => ({ ...fault, kind: "bad" as const })), ...warnings.map((warning) => ({ ...warning, kind: "warned" as const }))]
    const lines = linesOf(text, said.map(({ pointer }) => pointer))
    const marks = said.flatMap(({ pointer, message, kind }) => {
      const line = lines.get(pointer)
      return line ? [{ line, kind, message: message.replace(/ \(line \d+\)$/, "") }] : []
    })
    return marks.sort((one, other) => one.line - other.line)
  }, [text, error, errorLine, faults, warnings])
}
