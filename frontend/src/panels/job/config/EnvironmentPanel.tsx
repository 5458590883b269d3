import { Code, Group, Table, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import type { Job } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useArtifacts } from "@/hooks/job/files/useArtifacts"
import { useFeed } from "@/hooks/job/useFeed"
import { useFileText } from "@/hooks/job/files/useFiles"
import { environmentRows, matchingPackages, readEnvironment, type Environment } from "@/lib/job/files/environment"

const FILE = "environment.json"

/** The commit of the code, and the packages and the machine that worker 0 ran with. */
export function EnvironmentPanel() {
  const job = useFeed((feed) => feed.job)
  const latestEvent = useFeed((feed) => feed.events.at(-1)?.seq ?? 0)
  const artifacts = useArtifacts(job, latestEvent)
  const recorded = artifacts.data?.items.some(({ name }) => name === FILE) ?? false
  const text = useFileText(job.id, { attempt: null, path: FILE }, recorded)
  const environment = text.data === undefined ? null : readEnvironment(text.data)
  const rows = environmentRows(job.origin ?? null, environment)
  return (
    <Panel title="Environment" subtitle="The commit of the code, and the packages and machine of worker 0">
      {rows.length === 0 && !recorded && <Text size="sm">Recorded when training starts.</Text>}
      <Rows rows={rows} commit={job.origin?.commit ?? null} />
      {recorded && <Loaded {...text}>{environment && <Packages environment={environment} />}</Loaded>}
    </Panel>
  )
}

function Rows({ rows, commit }: { rows: readonly (readonly [string, string])[]; commit: NonNullable<Job["origin"]>["commit"] | null }) {
  if (rows.length === 0) return null
  return (
    <Table verticalSpacing={4} aria-label="Environment">
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w={130} fw={500}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>
              <Group gap={6} wrap="nowrap">
                <span>{value}</span>
                {name === "Commit" && commit != null && <CopyIcon value={commit} what="the commit" />}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

function Packages({ environment }: { environment: Environment }) {
  const [wanted, want] = useState("")
  const found = matchingPackages(environment.packages, wanted)
  return (
    <>
      <TextInput
        size="xs" mt="sm" maw={340} type="search" aria-label="Search packages" value={wanted} onChange={(event) => want(event.currentTarget.value)}
        placeholder={`Search ${environment.packages.length} packages`}
      />
      <Code block mt="xs" mah={220} style={{ overflowY: "auto" }} tabIndex={0} aria-label="Packages">
        {found.length > 0 ? found.join("\n") : "No match"}
      </Code>
      {environment.packages_left_out > 0 && <Text size="xs" c="dimmed">{`${environment.packages_left_out} more packages are not recorded.`}</Text>}
    </>
  )
}
