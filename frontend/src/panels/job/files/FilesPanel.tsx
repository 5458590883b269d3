import { Stack, Table, Text } from "@mantine/core"
import { IconFileOff } from "@tabler/icons-react"
import { useState } from "react"
import { artifactUrl, type Artifact } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useArtifacts } from "@/hooks/job/files/useArtifacts"
import { useFeed } from "@/hooks/job/useFeed"
import { formatBytes, formatMoment } from "@/lib/format"
import { canPreview } from "@/lib/job/files/preview"
import { hasEnded } from "@/lib/status"
import { CheckpointsPanel } from "./CheckpointsPanel"
import { ExportsPanel } from "./ExportsPanel"
import { FileButtons } from "./FileButtons"
import { FilePreview } from "./FilePreview"

const MEANINGS: Record<Artifact["kind"], string> = {
  model: "The trained model",
  job: "The job file, to run it again",
  metrics: "Every measured point, as Parquet",
  checkpoint: "A checkpoint to resume from",
  environment: "Python, packages and machine of worker 0",
}

/** A server's file of rows counts as a model. */
function meaningOf(name: string, kind: Artifact["kind"]): string {
  return name.startsWith("tables-") ? "The trained rows of embedding tables, of one server" : MEANINGS[kind]
}

/** Files that the job leaves, and those that its processes have stored. */
export function FilesPanel() {
  const job = useFeed((feed) => feed.job)
  const latestEvent = useFeed((feed) => feed.events.at(-1)?.seq ?? 0)
  const artifacts = useArtifacts(job, latestEvent)
  const [shown, setShown] = useState<string | null>(null)
  const items = artifacts.data?.items ?? []
  return (
    <Stack gap="md">
      <Panel title="Files" subtitle="Models, results and stored files" flush>
        <Loaded {...artifacts} isEmpty={items.length === 0} empty={hasEnded(job) ? "The job stored no file." : "No file yet. The model and the metrics are stored when the job ends."} emptyIcon={IconFileOff}>
          <Table>
            <Table.Tbody>
              {items.map((artifact) => (
                <Row key={artifact.name} jobId={job.id} artifact={artifact} onShow={() => setShown(artifact.name)} />
              ))}
            </Table.Tbody>
          </Table>
        </Loaded>
      </Panel>
      <ExportsPanel />
      <CheckpointsPanel />
      {shown && <FilePreview file={{ attempt: null, path: shown }} onClose={() => setShown(null)} />}
    </Stack>
  )
}

function Row({ jobId, artifact: { name, kind, size, created_at, sha256, note }, onShow }: { jobId: string; artifact: Artifact; onShow: () => void }) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <Text size="sm" fw={550}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {note ? `The best model: ${note}` : meaningOf(name, kind)} · {formatBytes(size)} · {formatMoment(created_at)}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" visibleFrom="sm">
          sha256 {sha256}
        </Text>
      </Table.Td>
      <Table.Td ta="right">
        <FileButtons name={name} url={artifactUrl(jobId, name)} onShow={canPreview(name, size) ? onShow : null} />
      </Table.Td>
    </Table.Tr>
  )
}
