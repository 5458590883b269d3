import { Alert, Code } from "@mantine/core"
import { IconAlertTriangle } from "@tabler/icons-react"
import { stringify } from "yaml"
import { CopyIcon } from "@/components/CopyIcon"
import { Findings } from "@/components/Findings"
import { Panel } from "@/components/Panel"
import { useFeed } from "@/hooks/useFeed"

export function ConfigPanel() {
  const job = useFeed((feed) => feed.job)
  const yaml = stringify(job.spec)
  return (
    <Panel
      title="Job file"
      subtitle={job.bundle ? `With all defaults filled in. Code: bundle ${job.bundle.slice(0, 12)}` : "With all defaults filled in"}
      actions={<CopyIcon value={yaml} what="the job file" />}
    >
      {job.warnings && job.warnings.length > 0 && (
        <Alert mb="sm" color="yellow" variant="light" icon={<IconAlertTriangle />} title="Over a known limit" styles={{ title: { color: "var(--gs-wait)" } }}>
          <Findings items={job.warnings} />
        </Alert>
      )}
      {job.notes && job.notes.length > 0 && <Findings items={job.notes} />}
      <Code block mt="sm" tabIndex={0}>
        {yaml}
      </Code>
    </Panel>
  )
}
