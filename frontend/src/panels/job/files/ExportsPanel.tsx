import { Table, Text } from "@mantine/core"
import type { JobExport } from "@/client"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useExports } from "@/hooks/job/useFiles"
import { formatBytes, formatCount, formatMoment } from "@/lib/format"

const STATES: Record<JobExport["state"], string> = {
  asked: "the servers make it",
  committed: "committed",
  failed: "failed: a server could not store its part",
  abandoned: "abandoned: its attempt ended, or a later one came first",
}

/** Exports of the model and its tables for serving; a job without any has no such panel. */
export function ExportsPanel() {
  const job = useFeed((feed) => feed.job)
  const items = useExports(job).data?.items ?? []
  if (items.length === 0) return null
  return (
    <Panel title="Exports" subtitle={`Model and tables for serving; gradstream exports ${job.name} --follow FOLDER downloads them`} flush>
      <Table.ScrollContainer minWidth={0} mah={320} type="native" role="group" tabIndex={0} aria-label="Exports">
        <Table verticalSpacing={6}>
          <Table.Tbody>
            {items.map((item) => (
              <Table.Tr key={item.number}>
                <Table.Td>
                  <Text size="sm" fw={550}>
                    {title(item)}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {about(item)}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

function title({ number, base, after }: JobExport): string {
  if (base === null) return `Export ${number}`
  return base ? `Export ${number}, a base` : `Export ${number}, a delta on ${after}`
}

function about({ state, version, passes, rows, gone, size, asked_at, committed_at, next_at }: JobExport): string {
  const next = next_at === null ? "" : `; the next one is asked for at ${formatMoment(next_at)}`
  if (state !== "committed") return `${STATES[state]}${next} · ${formatMoment(asked_at)}`
  const after = passes === null ? "" : `, after pass ${formatCount(passes)}`
  return `version ${formatCount(version)}${after}, ${formatCount(rows)} rows, ${formatCount(gone)} gone · ${formatBytes(size ?? 0)} · ${formatMoment(committed_at ?? asked_at)}`
}
