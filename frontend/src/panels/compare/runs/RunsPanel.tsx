import { Alert, Button, Group, Stack, Text } from "@mantine/core"
import { IconAlertTriangle } from "@tabler/icons-react"
import { Panel } from "@/components/page/Panel"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { counted } from "@/lib/format"
import { JobPicker } from "./JobPicker"
import { RunColumns } from "./RunColumns"
import { RunsTable } from "./RunsTable"
import classes from "./RunsPanel.module.css"

/** The jobs of the comparison as a table that says which are drawn, and the ids of those that are not there. */
export function RunsPanel({ runs, missing }: { runs: Runs; missing: readonly string[] }) {
  const [{ jobs: ids, within, off }, change] = useComparison()
  const { all, drawn } = runs
  return (
    <Panel>
      <Stack gap="sm">
        <JobPicker selected={ids} onAdd={(id) => change((now) => ({ jobs: [...now.jobs, id] }))} />
        {missing.length > 0 && <Missing ids={missing} onLeaveOut={() => change((now) => ({ jobs: now.jobs.filter((id) => !missing.includes(id)) }))} />}
        {all.length > 0 && (
          <>
            <Group gap={6} justify="space-between">
              <Text size="xs" c="dimmed" role="status">
                {drawn.length === all.length ? counted(all.length, "job") : `${drawn.length} of ${counted(all.length, "job")} drawn`}
              </Text>
              <Group gap={2}>
                {off.length > 0 && <Small label="Show all jobs" onClick={() => change({ off: [] })} />}
                {within.length > 0 && <Small label="Clear ranges" onClick={() => change({ within: [] })} />}
                {ids.length > 1 && <Small label="Remove all" onClick={() => change({ jobs: [], off: [], pick: null })} />}
                <RunColumns runs={runs} />
              </Group>
            </Group>
            <div className={classes.table}>
              <RunsTable runs={runs} />
            </div>
          </>
        )}
      </Stack>
    </Panel>
  )
}

function Small({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="subtle" color="gray" c="dimmed" size="compact-xs" onClick={onClick}>
      {label}
    </Button>
  )
}

function Missing({ ids, onLeaveOut }: { ids: readonly string[]; onLeaveOut: () => void }) {
  const one = ids.length === 1
  return (
    <Alert color="yellow" variant="light" icon={<IconAlertTriangle />} title={one ? "1 job was not found" : `${ids.length} jobs were not found`}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          {one ? "It" : "They"} may have been deleted since this link was made: {ids.map((id) => id.slice(0, 8)).join(", ")}
        </Text>
        <Button size="xs" variant="default" onClick={onLeaveOut}>
          Remove {one ? "it" : "them"} from this comparison
        </Button>
      </Stack>
    </Alert>
  )
}
