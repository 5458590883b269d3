import { Button, Table, Text } from "@mantine/core"
import { IconDownload, IconFileOff } from "@tabler/icons-react"
import { artifactUrl, type Artifact } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useArtifacts } from "@/hooks/queries/useArtifacts"
import { useFeed } from "@/hooks/useFeed"
import { formatBytes, formatMoment } from "@/lib/format"

const MEANINGS: Record<Artifact["kind"], string> = {
  model: "The trained model",
  job: "The job file, to run it again",
  metrics: "Every measured point, as Parquet",
  cut: "A cut to resume from",
}

export function FilesPanel() {
  const job = useFeed((feed) => feed.job)
  const latestEvent = useFeed((feed) => feed.events.at(-1)?.seq ?? 0)
  const artifacts = useArtifacts(job, latestEvent)
  const items = artifacts.data?.items ?? []
  return (
    <Panel title="Files" flush>
      <Loaded {...artifacts} isEmpty={items.length === 0} empty="No file yet. The model and the metrics are stored when the job ends." emptyIcon={IconFileOff}>
        <Table>
          <Table.Tbody>
            {items.map((artifact) => (
              <Row key={artifact.name} jobId={job.id} artifact={artifact} />
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}

function Row({ jobId, artifact: { name, kind, size, created_at, sha256 } }: { jobId: string; artifact: Artifact }) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: "anywhere" }}>
        <Text size="sm" fw={550}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {MEANINGS[kind]} · {formatBytes(size)} · {formatMoment(created_at)}
        </Text>
        <Text size="xs" c="dimmed" ff="monospace" visibleFrom="sm">
          sha256 {sha256}
        </Text>
      </Table.Td>
      <Table.Td ta="right">
        <Button component="a" href={artifactUrl(jobId, name)} download size="xs" variant="default" leftSection={<IconDownload size={14} />} aria-label={`Download ${name}`}>
          Download
        </Button>
      </Table.Td>
    </Table.Tr>
  )
}
