import { Alert, Button, Group, Stack, Text } from "@mantine/core"
import { IconRotate } from "@tabler/icons-react"
import { useMemo, useRef, useState } from "react"
import { flushSync } from "react-dom"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import type { Beginning } from "@/hooks/new-job/useBeginning"
import { DraftContext } from "@/hooks/new-job/useDraft"
import { useJobSchema } from "@/hooks/new-job/useJobSchema"
import { useNewJob, type NewJob } from "@/hooks/new-job/useNewJob"
import { keysOf, linesOf } from "@/lib/job-file/places"
import { readSchema, type Field } from "@/lib/job-file/schema"
import { ALGORITHM, hasPlace, moreFields, RESOURCES, RESOURCES_GROUPS } from "@/lib/job-file/sections"
import { CodePanel } from "./code/CodePanel"
import { goToField } from "./form/goTo"
import { IntentCards } from "./form/IntentCards"
import { MoreSettings } from "./form/MoreSettings"
import { Section } from "./form/Section"
import classes from "./form/SchemaField.module.css"
import layout from "./NewJobForm.module.css"
import { PlanPanel } from "./PlanPanel"
import { SubmitPanel } from "./SubmitPanel"
import { goToLine } from "./yaml/LinedText"
import { YamlPanel } from "./yaml/YamlPanel"

/** `place`: what this draft is kept under. */
export function NewJobForm({ initial, place }: { initial: Beginning; place: string }) {
  const job = useNewJob(initial, place)
  const schema = useJobSchema()
  const fields = useMemo(() => (schema.data ? readSchema(schema.data) : []), [schema.data])
  const [more, setMore] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  const go = (pointer: string) => {
    const line = job.draft.error === null ? linesOf(job.draft.text, [pointer]).get(pointer) : (job.draft.errorLine ?? 1)
    if (job.typedIn === "text") {
      if (line && area.current) goToLine(area.current, line)
      return
    }
    const keys = keysOf(pointer)
    if (goToField(keys) || !hasPlace(moreFields(fields), keys)) return
    flushSync(() => setMore(true))
    goToField(keys)
  }
  const quiet = job.typedIn === "text"
  return (
    <DraftContext value={{ value: job.draft.value, set: job.setValue, quiet, faults: job.faultsByPointer, warnings: job.warningsByPointer, arguments: job.arguments }}>
      {job.resumed && job.differs && <Resumed toSelectAgain={job.toSelectAgain} onOver={job.startOver} />}
      <div className={layout.columns}>
        <Stack gap="md" miw={0}>
          <Loaded {...schema} height={600}>
            <Form job={job} fields={fields} more={more} onMore={setMore} />
          </Loaded>
        </Stack>
        <Stack gap="md" className={layout.side}>
          <YamlPanel draft={job.draft} fields={fields} faults={job.faults} warnings={job.warnings} telling={quiet} onText={job.typeText} onFile={job.setText} area={area} />
          <SubmitPanel job={job} fields={fields} onGo={go} />
          <PlanPanel job={job} />
        </Stack>
      </div>
    </DraftContext>
  )
}

interface FormProps {
  job: NewJob
  fields: readonly Field[]
  more: boolean
  onMore: (open: boolean) => void
}

function Form({ job, fields, more, onMore }: FormProps) {
  const broken = job.draft.error !== null
  return (
    <>
      {broken && (
        <Alert color="yellow" variant="light">
          The form shows the last readable job file. Its fields are disabled until the file can be read again.
        </Alert>
      )}
      <CodePanel job={job} fields={fields} />
      <fieldset disabled={broken} className={classes.whole}>
        <Panel title="2. Algorithm" subtitle="Empty fields use the default shown in grey">
          <IntentCards fields={fields} />
          <Section title="Algorithm" fields={fields} choices={ALGORITHM} />
        </Panel>
        <Panel title="3. Resources and end" subtitle="The job ends at the first limit that it reaches">
          <Section title="Resources and end" fields={fields} choices={RESOURCES} groups={RESOURCES_GROUPS} />
        </Panel>
        <Panel>
          <MoreSettings fields={fields} open={more} onOpen={onMore} />
        </Panel>
      </fieldset>
    </>
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
