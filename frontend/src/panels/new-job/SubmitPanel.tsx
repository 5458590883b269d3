import { Button, Text, UnstyledButton } from "@mantine/core"
import { IconAlertTriangle, IconCircleCheck, IconRocket } from "@tabler/icons-react"
import { useMemo } from "react"
import { useNavigate } from "react-router"
import type { Fault, JobWarning } from "@/client"
import { Findings } from "@/components/messages/Findings"
import { Panel } from "@/components/page/Panel"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { counted } from "@/lib/format"
import { keysOf, linesOf } from "@/lib/job-file/places"
import type { Field } from "@/lib/job-file/schema"
import { hasPlace } from "@/lib/job-file/sections"
import classes from "./SubmitPanel.module.css"

interface SubmitPanelProps {
  job: NewJob
  fields: readonly Field[]
  /** Leads to the field or the line of a finding; "": of a file that cannot be read, to the line of its mistake. */
  onGo: (pointer: string) => void
}

export function SubmitPanel({ job, fields, onGo }: SubmitPanelProps) {
  const navigate = useNavigate()
  const refused = job.submission.error ?? job.upload.error
  const busy = job.submission.isPending || job.upload.isPending
  const submit = () => void job.submit().then(({ id }) => navigate(`/jobs/${id}`), () => undefined) // the reason stands in `refused`
  return (
    <Panel>
      <div role="status" aria-live="polite">
        {refused && (
          <p className={classes.bad}>
            <IconAlertTriangle size={16} aria-hidden /> {refused.message}
          </p>
        )}
        <Readiness job={job} fields={fields} onGo={onGo} refused={refused !== null} />
      </div>
      <Button mt="md" fullWidth leftSection={<IconRocket size={16} />} onClick={submit} disabled={!job.ready} loading={busy}>
        {job.picked ? "Upload and submit" : "Submit"}
      </Button>
    </Panel>
  )
}

function Readiness({ job, fields, onGo, refused }: SubmitPanelProps & { refused: boolean }) {
  const { faults, warnings } = job
  if (job.draft.error) {
    return (
      <>
        <ErrorCount count={1} />
        <ul className={classes.links} aria-label="Places to look at">
          <li>
            <UnstyledButton onClick={() => onGo("")}>Line {job.draft.errorLine ?? 1}</UnstyledButton>
          </li>
        </ul>
      </>
    )
  }
  if (job.validation.error) return <p className={classes.bad}>{job.validation.error.message}</p>
  if (faults.length > 0) {
    return (
      <>
        <ErrorCount count={faults.length} />
        <Places job={job} fields={fields} onGo={onGo} items={faults} />
      </>
    )
  }
  if (job.tooMuch) return <p className={classes.bad}>Correct the selection of files.</p>
  if (!job.hasCode) return <p className={classes.warned}>Select the folder with your code.</p>
  if (!job.ready) return <Text size="sm" c="dimmed">Checking…</Text>
  return (
    <>
      {!refused && (
        <p className={classes.good}>
          <IconCircleCheck size={16} aria-hidden /> The job file is valid and matches its code.
        </p>
      )}
      {warnings.length > 0 && (
        <p className={classes.warned}>
          <IconAlertTriangle size={16} aria-hidden /> {counted(warnings.length, "warning")}
        </p>
      )}
      <Places job={job} fields={fields} onGo={onGo} items={warnings} />
      {job.notes.length > 0 && <Findings items={job.notes} />}
    </>
  )
}

function ErrorCount({ count }: { count: number }) {
  return (
    <p className={classes.bad}>
      <IconAlertTriangle size={16} aria-hidden /> {counted(count, "error")} to correct
    </p>
  )
}

/** Links to the places of findings, which stand there in words. One that has no such place has its words here. */
function Places({ job: { draft, typedIn }, fields, onGo, items }: SubmitPanelProps & { items: readonly (Fault | JobWarning)[] }) {
  const lines = useMemo(() => linesOf(draft.text, items.map(({ pointer }) => pointer)), [draft.text, items])
  const line = (pointer: string) => (typedIn === "text" ? lines.get(pointer) : null)
  const isTold = (pointer: string) => pointer === "/bundle" || (typedIn === "text" ? Boolean(line(pointer)) : hasPlace(fields, keysOf(pointer)))
  const elsewhere = items.filter(({ pointer }) => !isTold(pointer))
  const links = [...new Set(items.map(({ pointer }) => pointer))].filter((pointer) => isTold(pointer) && pointer !== "/bundle")
  return (
    <>
      {links.length > 0 && (
        <ul className={classes.links} aria-label="Places to look at">
          {links.map((pointer) => (
            <li key={pointer}>
              <UnstyledButton onClick={() => onGo(pointer)}>{keysOf(pointer).join(".")}</UnstyledButton>
              {line(pointer) ? ` (line ${line(pointer)})` : null}
            </li>
          ))}
        </ul>
      )}
      {elsewhere.length > 0 && <Findings items={elsewhere} />}
    </>
  )
}
