import { Alert, Anchor, Code, SegmentedControl, Stack, Text } from "@mantine/core"
import { IconAlertTriangle } from "@tabler/icons-react"
import { useState } from "react"
import { Link } from "react-router"
import { stringify } from "yaml"
import type { JobConfig } from "@/client"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { SaveIcon } from "@/components/buttons/SaveIcon"
import { Findings } from "@/components/messages/Findings"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useConfig } from "@/hooks/job/useConfig"
import { useFeed } from "@/hooks/job/useFeed"
import { counted } from "@/lib/format"
import { ConfigDiff } from "./ConfigDiff"
import { EnvironmentPanel } from "./EnvironmentPanel"

type Shown = "sent" | "short" | "full"
const SAYS: Record<Shown, { label: string; means: string }> = {
  sent: { label: "As sent", means: "The submitted text, unchanged" },
  short: { label: "Short", means: "Only values that differ from the defaults; it describes the same job" },
  full: { label: "In full", means: "All values, with defaults filled in, as the processes receive it" },
}

export function ConfigPanel() {
  const job = useFeed((feed) => feed.job)
  const config = useConfig(job.id, job.shards)
  const [wanted, want] = useState<Shown | null>(null)
  const there: Shown[] = config.data?.source == null ? ["short", "full"] : ["sent", "short", "full"]
  const shown = wanted ?? there[0]!
  const text = config.data ? textOf(config.data, shown) : ""
  return (
    <Stack gap="md">
      <Panel
        title="Job file"
        subtitle={
          <>
            {SAYS[shown].means}
            {job.bundle && (
              <>
                .{" "}
                <Anchor inherit underline="always" component={Link} to={`/jobs/${job.id}/code`}>
                  Its code
                </Anchor>{" "}
                is bundle {job.bundle.slice(0, 12)}
              </>
            )}
          </>
        }
        actions={
          <>
            <SegmentedControl
              size="xs" aria-label="Form of the job file" value={shown} onChange={want}
              data={there.map((value) => ({ value, label: SAYS[value].label }))}
            />
            <CopyIcon value={text} what="the job file" />
            <SaveIcon text={text} name={`${job.name}.yaml`} what="the job file" />
          </>
        }
      >
        {job.warnings && job.warnings.length > 0 && (
          <Alert mb="sm" color="yellow" variant="light" icon={<IconAlertTriangle />} title={`${counted(job.warnings.length, "warning")}: settings exceed known limits`}>
            <Findings items={job.warnings} />
          </Alert>
        )}
        {job.notes && job.notes.length > 0 && <Findings items={job.notes} />}
        <Loaded {...config}>
          <Code block mt="sm" tabIndex={0} aria-label="Job file">
            {text}
          </Code>
          {shown === "sent" && <Overrides words={config.data?.overrides ?? []} />}
        </Loaded>
      </Panel>
      <EnvironmentPanel />
      <ConfigDiff />
    </Stack>
  )
}

function textOf(config: JobConfig, shown: Shown): string {
  return shown === "sent" ? (config.source ?? "") : stringify(config[shown])
}

/** Overrides of the text by the command line. */
function Overrides({ words }: { words: readonly string[] }) {
  if (words.length === 0) return null
  return (
    <Text size="sm" mt="sm">
      Overrides at submission:{" "}
      {words.map((each) => (
        <Code key={each} mr={6}>
          {each}
        </Code>
      ))}
    </Text>
  )
}
