import { Stack } from "@mantine/core"
import type { Beginning } from "@/hooks/useBeginning"
import { DraftContext } from "@/hooks/useDraft"
import { useNewJob } from "@/hooks/useNewJob"
import { CodePanel } from "./CodePanel"
import { FormPanel } from "./FormPanel"
import { SubmitPanel } from "./SubmitPanel"
import { YamlPanel } from "./YamlPanel"
import classes from "./NewJobForm.module.css"

export function NewJobForm({ initial }: { initial: Beginning }) {
  const job = useNewJob(initial)
  return (
    <DraftContext value={{ value: job.draft.value, set: job.setValue, faults: job.faultsByPointer }}>
      <div className={classes.columns}>
        <Stack gap="md" miw={0}>
          <CodePanel code={job.code} onCode={job.setCode} onText={job.setText} />
          <FormPanel error={job.draft.error} />
        </Stack>
        <Stack gap="md" className={classes.side}>
          <YamlPanel draft={job.draft} onText={job.setText} />
          <SubmitPanel job={job} />
        </Stack>
      </div>
    </DraftContext>
  )
}
