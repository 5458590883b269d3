import { Accordion, Button, Table, Text } from "@mantine/core"
import { IconPlayerTrackNext } from "@tabler/icons-react"
import { useState } from "react"
import { Link } from "react-router"
import { fileUrl, type JobCheckpoint, type JobFile } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useFiles } from "@/hooks/job/files/useFiles"
import { useNothing } from "@/hooks/job/useNothing"
import { counted, formatBytes, formatCount, formatMoment } from "@/lib/format"
import { groupFiles, type FileGroup } from "@/lib/job/files/files"
import { canPreview } from "@/lib/job/files/preview"
import { hasLayout } from "@/lib/job/startPoints"
import { FileButtons } from "./FileButtons"
import { FilePreview } from "./FilePreview"

/** Checkpoints that a new attempt can begin from, with their files. */
export function CheckpointsPanel() {
  const job = useFeed((feed) => feed.job)
  const latestEvent = useFeed((feed) => feed.events.at(-1)?.seq ?? 0)
  const stored = useFiles(job, latestEvent)
  const [shown, setShown] = useState<JobFile | null>(null)
  const nothing = useNothing()
  const none = nothing("No checkpoint has been made")
  const groups = stored.data ? groupFiles(stored.data.checkpoints, stored.data.files) : []
  return (
    <Panel title={<Term word="checkpoint">Checkpoints</Term>} subtitle="The newest few are kept; a new attempt resumes from the last" flush tour="checkpoints">
      <Loaded {...stored} isEmpty={groups.length === 0} empty={none}>
        {groups.every(({ checkpoint }) => checkpoint === null) && (
          <Text size="sm" c="dimmed" px="md" pb="sm">
            {none}
          </Text>
        )}
        <Accordion multiple chevronPosition="left">
          {groups.map((group) => (
            <Accordion.Item key={group.key} value={group.key}>
              <Accordion.Control>
                <Text size="sm" fw={550}>
                  {group.title}
                </Text>
                <Text size="xs" c="dimmed">
                  {about(group)}
                </Text>
              </Accordion.Control>
              <Accordion.Panel>
                {group.checkpoint && hasLayout(stored.data!.files) && <ContinueButton jobId={job.id} name={group.title} checkpoint={group.checkpoint} />}
                <FileTable jobId={job.id} name={group.title} files={group.files} onShow={setShown} />
              </Accordion.Panel>
            </Accordion.Item>
          ))}
        </Accordion>
      </Loaded>
      {shown && <FilePreview file={shown} onClose={() => setShown(null)} />}
    </Panel>
  )
}

function ContinueButton({ jobId, name, checkpoint: { attempt, number } }: { jobId: string; name: string; checkpoint: JobCheckpoint }) {
  return (
    <Button
      component={Link}
      to={`/jobs/new?from=${jobId}&start=${number}&attempt=${attempt}`}
      variant="default"
      size="xs"
      ml="md"
      my="xs"
      leftSection={<IconPlayerTrackNext size={14} />}
      aria-label={`Continue from this checkpoint: ${name}`}
    >
      Continue from this checkpoint
    </Button>
  )
}

function about({ checkpoint, files, size }: FileGroup): string {
  const count = `${counted(files.length, "file")}, ${formatBytes(size)}`
  if (!checkpoint) return count
  const { version, samples, first_needed: first, created_at } = checkpoint
  const needed = first === null ? "" : ` · needs ${neededData(first)}`
  return `version ${formatCount(version)}, ${formatCount(samples)} samples${needed} · ${count} · ${formatMoment(created_at)}`
}

function neededData(first: number | Record<string, number>): string {
  if (typeof first === "number") return `examples from ${formatCount(first)} on`
  return Object.entries(first)
    .map(([partition, offset]) => `partition ${partition} from offset ${formatCount(offset)} on`)
    .join(", ")
}

function FileTable({ jobId, name, files, onShow }: { jobId: string; name: string; files: readonly JobFile[]; onShow: (file: JobFile) => void }) {
  return (
    <Table.ScrollContainer minWidth={460} type="native" role="group" tabIndex={0} aria-label={`Files of ${name}`}>
      <Table verticalSpacing={6}>
        <Table.Tbody>
          {files.map((file) => (
            <Table.Tr key={`${file.attempt}/${file.path}`}>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{file.path}</Table.Td>
              <Table.Td className="numbers" style={{ whiteSpace: "nowrap" }}>
                {formatBytes(file.size)}
              </Table.Td>
              <Table.Td>
                <Text size="xs" c="dimmed" ff="monospace" title={file.sha256}>
                  sha256 {file.sha256.slice(0, 12)}
                </Text>
              </Table.Td>
              <Table.Td>
                <FileButtons name={file.path} url={fileUrl(jobId, file.attempt, file.path)} onShow={canPreview(file.path, file.size) ? () => onShow(file) : null} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
