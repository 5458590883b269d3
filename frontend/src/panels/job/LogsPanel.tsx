import { Button, Group, Select, Switch } from "@mantine/core"
import { IconDownload } from "@tabler/icons-react"
import { useMemo, useState } from "react"
import { useSearchParams } from "react-router"
import { Loaded } from "@/components/Loaded"
import { LogView } from "@/components/LogView"
import { Panel } from "@/components/Panel"
import { useLogs } from "@/hooks/useJobHistory"
import { toLogLines, type LogLine } from "@/lib/logs"
import { saveText } from "@/lib/save"

export function LogsPanel() {
  const logs = useLogs()
  const [params, setParams] = useSearchParams()
  const [follow, setFollow] = useState(true)
  const lines = useMemo(() => toLogLines(logs.data), [logs.data])
  const labels = [...new Set(lines.map(({ label }) => label))].sort()
  const chosen = params.get("process")
  const shown = chosen ? lines.filter(({ label }) => label === chosen) : lines
  return (
    <Panel
      title="Logs"
      flush
      actions={
        <Group gap="sm" justify="flex-end">
          <Select
            size="xs"
            w={150}
            aria-label="Process"
            placeholder="All processes"
            data={labels}
            value={chosen}
            onChange={(value) => setParams(value ? { process: value } : {}, { replace: true, preventScrollReset: true })}
            clearable
          />
          <Switch size="xs" label="Follow" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
          <Button size="xs" variant="default" leftSection={<IconDownload size={14} />} onClick={() => saveText(asText(shown), "job.log")} visibleFrom="sm">
            Save
          </Button>
        </Group>
      }
    >
      <Loaded {...logs} isEmpty={shown.length === 0} empty="No process has written anything yet.">
        <LogView lines={shown} follow={follow} onFollow={setFollow} withLabels={!chosen} />
      </Loaded>
    </Panel>
  )
}

function asText(lines: readonly LogLine[]): string {
  return lines.map(({ time, label, text }) => `${time} ${label} ${text}\n`).join("")
}
