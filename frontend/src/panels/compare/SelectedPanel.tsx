import { ActionIcon, Alert, Anchor, Button, Group, Stack, Text, useComputedColorScheme } from "@mantine/core"
import { IconAlertTriangle, IconX } from "@tabler/icons-react"
import { useState } from "react"
import { Link } from "react-router"
import { seriesColor } from "@/charts/palette"
import { StatusBadge } from "@/components/display/StatusBadge"
import { Panel } from "@/components/page/Panel"
import { useComparison } from "@/hooks/compare/useComparison"
import { groupBy, type Compared } from "@/lib/compare/groups"
import { JobPicker } from "./JobPicker"
import classes from "./SelectedPanel.module.css"

/** Jobs that are listed before one asks for the others: about three lines of a wide window. */
const SHOWN = 12

/** The jobs of the comparison, with what became of those that are not there. */
export function SelectedPanel({ jobs, missing }: { jobs: readonly Compared[]; missing: readonly string[] }) {
  const [{ jobs: ids, group }, change] = useComparison()
  const [all, setAll] = useState(false)
  const scheme = useComputedColorScheme("light")
  const colors = new Map(groupBy(jobs, group).flatMap(({ jobs, index }) => jobs.map(({ job }) => [job.id, seriesColor(index, scheme)])))
  const remove = (gone: readonly string[]) => change((now) => ({ jobs: now.jobs.filter((id) => !gone.includes(id)) }))
  return (
    <Panel>
      <Stack gap="sm">
        <Group gap="sm">
          <div className={classes.picker}>
            <JobPicker selected={ids} onAdd={(id) => change((now) => ({ jobs: [...now.jobs, id] }))} />
          </div>
          {ids.length > 1 && (
            <Button variant="subtle" color="gray" c="dimmed" size="xs" onClick={() => change({ jobs: [] })}>
              Remove all
            </Button>
          )}
        </Group>
        {missing.length > 0 && <Missing ids={missing} onLeaveOut={() => remove(missing)} />}
        {jobs.length > 0 && (
          <ul className={classes.jobs} aria-label="Compared jobs">
            {(all ? jobs : jobs.slice(0, SHOWN)).map(({ job, label }) => (
              <li key={job.id}>
                <i style={{ background: colors.get(job.id) }} aria-hidden />
                <Anchor component={Link} to={`/jobs/${job.id}`} c="inherit" fw={550} size="sm">
                  {label}
                </Anchor>
                <Text component="span" size="xs" c="dimmed">
                  {job.strategy} {job.gate}
                </Text>
                {job.status !== "succeeded" && <StatusBadge status={job.status} />}
                <ActionIcon variant="subtle" color="gray" c="dimmed" size="sm" aria-label={`Remove ${label}`} onClick={() => remove([job.id])}>
                  <IconX size={14} />
                </ActionIcon>
              </li>
            ))}
            {jobs.length > SHOWN && (
              <li className={classes.more}>
                <Button variant="subtle" size="compact-sm" aria-expanded={all} onClick={() => setAll(!all)}>
                  {all ? "Show fewer" : `Show ${jobs.length - SHOWN} more`}
                </Button>
              </li>
            )}
          </ul>
        )}
      </Stack>
    </Panel>
  )
}

function Missing({ ids, onLeaveOut }: { ids: readonly string[]; onLeaveOut: () => void }) {
  const one = ids.length === 1
  return (
    <Alert color="yellow" variant="light" icon={<IconAlertTriangle />} title={one ? "1 job was not found" : `${ids.length} jobs were not found`} styles={{ title: { color: "var(--gs-wait)" } }}>
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
