import { Alert, Button, FileButton, Group, Text } from "@mantine/core"
import { IconAlertTriangle, IconFiles, IconFolder } from "@tabler/icons-react"
import { Panel } from "@/components/page/Panel"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import type { Field } from "@/lib/job-file/schema"
import { CODE, CODE_GROUPS } from "@/lib/job-file/sections"
import { picked, sourcesOf, type PickedFile } from "@/lib/upload/bundle"
import { selectFiles } from "@/lib/upload/leftOut"
import { Section } from "@/panels/new-job/form/Section"
import { CodeFiles } from "./CodeFiles"
import { DropArea } from "./DropArea"
import classes from "./DropArea.module.css"
import { ExamplePicker } from "./ExamplePicker"
import { FoundWorkloads } from "./FoundWorkloads"
import { LeftOutFiles } from "./LeftOutFiles"

/** The user's code: an example's, an earlier job's, or files of this machine, which are shown before they are uploaded. */
export function CodePanel({ job, fields }: { job: NewJob; fields: readonly Field[] }) {
  const take = async (files: readonly PickedFile[]) => {
    if (files.length === 0) return
    const { kept, leftOut } = await selectFiles(files)
    job.setPicked({ files: kept, leftOut, sources: await sourcesOf(kept) })
    const jobFile = kept.find(({ path }) => path === "job.yaml")
    if (jobFile) job.setText(await jobFile.file.text())
  }
  const refused = job.faultsByPointer.get("/bundle") ?? job.upload.error?.message
  return (
    <Panel title="1. Code" subtitle="A folder or files with a Workload class. A job.yaml among them fills the form.">
      <DropArea onFiles={(files) => void take(files)}>
        <Group gap="sm" justify="center">
          <FileButton onChange={(files) => void take(picked(files))} multiple inputProps={{ "aria-label": "A folder of code", ...({ webkitdirectory: "" } as object) }}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<IconFolder size={16} />}>
                Select a folder
              </Button>
            )}
          </FileButton>
          <FileButton onChange={(files) => void take(picked(files))} multiple inputProps={{ "aria-label": "Files of code" }}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<IconFiles size={16} />}>
                Select files
              </Button>
            )}
          </FileButton>
          <ExamplePicker onCode={job.setCode} onText={job.setText} />
        </Group>
      </DropArea>
      {refused && (
        <Alert mt="md" color="red" variant="light" icon={<IconAlertTriangle />} title="Code rejected">
          {refused}
        </Alert>
      )}
      {job.picked ? <Selected job={job} /> : job.code && <Uploaded job={job} />}
      <FoundWorkloads job={job} />
      <fieldset disabled={job.draft.error !== null} className={classes.fields}>
        <Section title="Code" fields={fields} choices={CODE} groups={CODE_GROUPS} />
      </fieldset>
    </Panel>
  )
}

function Selected({ job: { picked: selected, tooMuch: problem, setPicked, send, upload } }: { job: NewJob }) {
  const files = selected!.files.map(({ path, file }) => ({ path, size: file.size }))
  return (
    <CodeFiles files={files} headline={<>To be uploaded:</>}>
      <LeftOutFiles leftOut={selected!.leftOut} />
      {problem && (
        <Alert mt="sm" color="red" variant="light" icon={<IconAlertTriangle />} title="Invalid bundle">
          {problem}
        </Alert>
      )}
      <Group gap="xs" mt="sm">
        <Button size="xs" disabled={problem !== null} loading={upload.isPending} onClick={() => void send(selected!).catch(() => undefined)}>
          Upload now
        </Button>
        <Button size="xs" variant="default" onClick={() => setPicked(null)}>
          Discard
        </Button>
        <Text size="xs" c="dimmed">
          Submit uploads them, too.
        </Text>
      </Group>
    </CodeFiles>
  )
}

function Uploaded({ job: { code } }: { job: NewJob }) {
  const { origin, hash, files } = code!
  return (
    <CodeFiles
      files={files}
      headline={
        <>
          Uses <b>{origin}</b>{" "}
          <Text span c="dimmed" ff="monospace" size="xs">
            {hash.slice(0, 12)}
          </Text>
          :
        </>
      }
    />
  )
}
