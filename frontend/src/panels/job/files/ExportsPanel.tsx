import { Anchor, Table, Text } from "@mantine/core"
import { Link } from "react-router"
import type { JobExport } from "@/client"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useExports } from "@/hooks/job/files/useFiles"
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
    <Panel title={<Term word="export">Exports</Term>} subtitle={`Model and tables for serving; gradstream exports ${job.name} --follow FOLDER downloads them`} flush>
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
                    {item.state === "failed" && <Consequences of={item} valid={items.find(({ state }) => state === "committed")} jobId={job.id} />}
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

function Consequences({ of: { next_at }, valid, jobId }: { of: JobExport; valid: JobExport | undefined; jobId: string }) {
  return (
    <>
      {valid ? `. Export ${valid.number} stays valid for readers` : ". There is no earlier export"}; the next one has all changes
      {next_at === null ? "" : ` and is asked for at ${formatMoment(next_at)}`}.{" "}
      <Anchor component={Link} to={`/jobs/${jobId}/logs?role=server`} size="xs" underline="always">
        Logs of the servers with the reason
      </Anchor>
    </>
  )
}

function title({ number, base, after }: JobExport): string {
  if (base === null) return `Export ${number}`
  return base ? `Export ${number}, a base` : `Export ${number}, a delta on ${after}`
}

function about({ state, version, passes, rows, gone, size, asked_at, committed_at }: JobExport): string {
  if (state !== "committed") return `${STATES[state]} · ${formatMoment(asked_at)}`
  const after = passes === null ? "" : `, after pass ${formatCount(passes)}`
  return `version ${formatCount(version)}${after}, ${formatCount(rows)} rows, ${formatCount(gone)} gone · ${formatBytes(size ?? 0)} · ${formatMoment(committed_at ?? asked_at)}`
}
