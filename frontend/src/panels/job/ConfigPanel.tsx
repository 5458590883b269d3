import { Alert, Code, SegmentedControl, Stack } from "@mantine/core"
import { IconAlertTriangle } from "@tabler/icons-react"
import { useState } from "react"
import { stringify } from "yaml"
import { CopyIcon } from "@/components/CopyIcon"
import { Findings } from "@/components/Findings"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useConfig } from "@/hooks/queries/useConfig"
import { useFeed } from "@/hooks/useFeed"
import { ConfigDiff } from "./ConfigDiff"

type Length = "short" | "full"
const SAYS: Record<Length, string> = {
  short: "Only what differs from the defaults: it makes the same job",
  full: "With all defaults filled in, as the processes get it",
}

export function ConfigPanel() {
  const job = useFeed((feed) => feed.job)
  const config = useConfig(job.id, job.shards)
  const [length, setLength] = useState<Length>("short")
  const yaml = config.data ? stringify(config.data[length]) : ""
  const code = job.bundle ? `. Code: bundle ${job.bundle.slice(0, 12)}` : ""
  return (
    <Stack gap="md">
      <Panel
        title="Job file"
        subtitle={SAYS[length] + code}
        actions={
          <>
            <SegmentedControl
              size="xs" aria-label="Length of the job file" value={length} onChange={(value) => setLength(value)}
              data={[{ value: "short", label: "Short" }, { value: "full", label: "Resolved" }]}
            />
            <CopyIcon value={yaml} what="the job file" />
          </>
        }
      >
        {job.warnings && job.warnings.length > 0 && (
          <Alert mb="sm" color="yellow" variant="light" icon={<IconAlertTriangle />} title="Over a known limit" styles={{ title: { color: "var(--gs-wait)" } }}>
            <Findings items={job.warnings} />
          </Alert>
        )}
        {job.notes && job.notes.length > 0 && <Findings items={job.notes} />}
        <Loaded {...config}>
          <Code block mt="sm" tabIndex={0} aria-label="Job file">
            {yaml}
          </Code>
        </Loaded>
      </Panel>
      <ConfigDiff />
    </Stack>
  )
}
