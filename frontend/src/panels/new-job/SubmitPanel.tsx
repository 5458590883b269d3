import { Button, Text } from "@mantine/core"
import { IconAlertTriangle, IconCircleCheck, IconRocket } from "@tabler/icons-react"
import { useMemo } from "react"
import { useNavigate } from "react-router"
import type { JobWarning } from "@/client"
import { Findings } from "@/components/messages/Findings"
import { Panel } from "@/components/page/Panel"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { linesOf } from "@/lib/job-file/places"
import classes from "./SubmitPanel.module.css"

export function SubmitPanel({ job }: { job: NewJob }) {
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
        <Readiness job={job} />
      </div>
      <Button mt="md" fullWidth leftSection={<IconRocket size={16} />} onClick={submit} disabled={!job.ready} loading={busy}>
        {job.picked ? "Upload and submit" : "Submit"}
      </Button>
    </Panel>
  )
}

function Readiness({ job }: { job: NewJob }) {
  const { faults } = job
  const elsewhere = useMemo(() => {
    const lines = linesOf(job.draft.text, faults.map(({ pointer }) => pointer))
    return faults.filter(({ pointer }) => pointer !== "/bundle" && !lines.get(pointer))
  }, [job.draft.text, faults])
  if (job.draft.error) return <p className={classes.bad}>The job file cannot be read: see line {job.draft.errorLine ?? 1}.</p>
  if (job.validation.error) return <p className={classes.bad}>{job.validation.error.message}</p>
  if (faults.length > 0) {
    return (
      <>
        <p className={classes.bad}>
          <IconAlertTriangle size={16} aria-hidden /> {faults.length === 1 ? "1 error to correct" : `${faults.length} errors to correct`}
        </p>
        {elsewhere.length > 0 && <Findings items={elsewhere} />}
      </>
    )
  }
  if (job.tooMuch) return <p className={classes.bad}>Correct the selection of files.</p>
  if (!job.hasCode) return <p className={classes.warned}>Select the folder with your code.</p>
  if (!job.ready) return <Text size="sm" c="dimmed">Checking…</Text>
  return (
    <>
      <p className={classes.good}>
        <IconCircleCheck size={16} aria-hidden /> The job file is valid and matches its code.
      </p>
      <Warnings warnings={job.warnings} />
      {job.notes.length > 0 && <Findings items={job.notes} />}
    </>
  )
}

/** They keep no job from being submitted. */
function Warnings({ warnings }: { warnings: readonly JobWarning[] }) {
  if (warnings.length === 0) return null
  return (
    <>
      <p className={classes.warned}>
        <IconAlertTriangle size={16} aria-hidden /> {warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`}
      </p>
      <Findings items={warnings} />
    </>
  )
}
