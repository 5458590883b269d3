import { Button, Group, Stack, Text } from "@mantine/core"
import { IconRotate } from "@tabler/icons-react"
import type { Beginning } from "@/hooks/new-job/useBeginning"
import { DraftContext } from "@/hooks/new-job/useDraft"
import { useNewJob, type NewJob } from "@/hooks/new-job/useNewJob"
import { CodePanel } from "./code/CodePanel"
import { FormPanel } from "./form/FormPanel"
import { PlanPanel } from "./PlanPanel"
import { SubmitPanel } from "./SubmitPanel"
import { YamlPanel } from "./YamlPanel"
import classes from "./NewJobForm.module.css"

/** `place`: what this draft is kept under. */
export function NewJobForm({ initial, place }: { initial: Beginning; place: string }) {
  const job = useNewJob(initial, place)
  return (
    <DraftContext value={{ value: job.draft.value, set: job.setValue, faults: job.faultsByPointer, warnings: job.warningsByPointer, arguments: job.arguments }}>
      {job.resumed && job.differs && <Resumed toSelectAgain={job.toSelectAgain} onOver={job.startOver} />}
      <div className={classes.columns}>
        <Stack gap="md" miw={0}>
          <CodePanel job={job} />
          <FormPanel error={job.draft.error} />
        </Stack>
        <Stack gap="md" className={classes.side}>
          <YamlPanel draft={job.draft} faults={job.faults} warnings={job.warnings} onText={job.setText} />
          <SubmitPanel job={job} />
          <PlanPanel job={job} />
        </Stack>
      </div>
    </DraftContext>
  )
}

function Resumed({ toSelectAgain, onOver }: { toSelectAgain: number; onOver: NewJob["startOver"] }) {
  return (
    <Group gap="sm" mb="md">
      <Text size="sm">
        Your unsubmitted draft was restored.
        {toSelectAgain > 0 && ` The ${toSelectAgain === 1 ? "file" : `${toSelectAgain} files`} that you selected must be selected again: browsers do not keep them.`}
      </Text>
      <Button size="xs" variant="default" leftSection={<IconRotate size={14} />} onClick={onOver}>
        Start over
      </Button>
    </Group>
  )
}
