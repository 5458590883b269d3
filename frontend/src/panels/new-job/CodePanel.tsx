import { Alert, Button, FileButton, Group, List, Text } from "@mantine/core"
import { IconAlertTriangle, IconFiles, IconFolder } from "@tabler/icons-react"
import type { Code } from "@/hooks/useNewJob"
import { Panel } from "@/components/Panel"
import { useUploadBundle } from "@/hooks/queries/useUploadBundle"
import { formatBytes } from "@/lib/format"
import { ExamplePicker } from "./ExamplePicker"

interface CodePanelProps {
  code: Code | null
  onCode: (code: Code) => void
  onText: (text: string) => void
}

const FILES_SHOWN = 8

export function CodePanel({ code, onCode, onText }: CodePanelProps) {
  const upload = useUploadBundle()
  const take = async (files: File[]) => {
    if (files.length === 0) return
    const bundle = await upload.mutateAsync(files)
    onCode({ hash: bundle.hash, origin: `${bundle.files.length} uploaded file${bundle.files.length === 1 ? "" : "s"}`, files: bundle.files })
    const job = files.find(({ name }) => name === "job.yaml")
    if (job) onText(await job.text())
  }
  const picked = (files: File[]) => void take(files).catch(() => undefined) // the reason stands in `upload.error`
  return (
    <Panel title="Code" subtitle="A folder or files with a Workload class. A job.yaml among them fills the form.">
      <Group gap="sm">
        <FileButton onChange={picked} multiple inputProps={{ "aria-label": "A folder of code", ...({ webkitdirectory: "" } as object) }}>
          {(props) => (
            <Button {...props} variant="default" leftSection={<IconFolder size={16} />} loading={upload.isPending}>
              Upload a folder
            </Button>
          )}
        </FileButton>
        <FileButton onChange={picked} multiple inputProps={{ "aria-label": "Files of code" }}>
          {(props) => (
            <Button {...props} variant="default" leftSection={<IconFiles size={16} />} loading={upload.isPending}>
              Upload files
            </Button>
          )}
        </FileButton>
        <ExamplePicker onCode={onCode} onText={onText} />
      </Group>
      {upload.error && (
        <Alert mt="md" color="red" variant="light" icon={<IconAlertTriangle />} title="The code was not taken">
          {upload.error.message}
        </Alert>
      )}
      {code && <Contents code={code} />}
    </Panel>
  )
}

function Contents({ code: { origin, hash, files } }: { code: Code }) {
  const size = files.reduce((sum, file) => sum + file.size, 0)
  return (
    <div data-testid="code">
      <Text size="sm" mt="md">
        Uses <b>{origin}</b>, {formatBytes(size)}{" "}
        <Text span c="dimmed" ff="monospace" size="xs">
          {hash.slice(0, 12)}
        </Text>
      </Text>
      <List size="xs" mt={6} spacing={2} c="dimmed">
        {files.slice(0, FILES_SHOWN).map(({ path, size }) => (
          <List.Item key={path}>
            {path} ({formatBytes(size)})
          </List.Item>
        ))}
        {files.length > FILES_SHOWN && <List.Item>and {files.length - FILES_SHOWN} more</List.Item>}
      </List>
    </div>
  )
}
