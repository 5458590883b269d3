import { Anchor, Group, NumberInput, SegmentedControl, Table, Text, UnstyledButton } from "@mantine/core"
import { IconArrowDown } from "@tabler/icons-react"
import { useState } from "react"
import { Link } from "react-router"
import type { JobTarget } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import type { ComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison, type Direction } from "@/hooks/compare/useComparison"
import { useTargets } from "@/hooks/compare/useTargets"
import type { Compared } from "@/lib/compare/groups"
import { pauseOf } from "@/lib/compare/pause"
import { byCost, coarseness, COSTS, timesOf, type Cost } from "@/lib/compare/targets"
import { formatNumber } from "@/lib/format"
import { hasEnded } from "@/lib/status"
import { ComparePanel } from "./ComparePanel"

const DIRECTIONS: { value: Direction; label: string }[] = [
  { value: "at_least", label: "at least" },
  { value: "at_most", label: "at most" },
]

/** Cost of each job to reach a value, exactly: from all stored points, not from the drawn ones. */
export function TargetPanel({ jobs, metric }: { jobs: readonly Compared[]; metric: ComparedMetric }) {
  const [, change] = useComparison()
  const { name, target, direction } = metric
  const { title } = useMetric(name)
  const ids = jobs.map(({ job }) => job.id)
  const live = () => jobs.map(({ job }) => pauseOf(job, jobs.length)).find(Boolean) ?? false
  const targets = useTargets(ids, { metric: name, target, direction }, live)
  return (
    <ComparePanel
      title="Time to a target"
      subtitle="First stored point at which the metric reached the target"
      actions={
        <Group gap="xs">
          <Text size="sm">{title}</Text>
          <SegmentedControl size="xs" data={DIRECTIONS} value={direction} onChange={(value) => change({ direction: value })} aria-label="Direction" />
          <TargetInput key={name} target={target} onChange={(target) => change({ target })} />
        </Group>
      }
      flush
    >
      <Loaded isPending={target !== null && targets.isPending} error={targets.data ? null : targets.error} refetch={targets.refetch} isEmpty={target === null} empty={`Enter a target for ${title} above.`} height={120}>
        <Reaches items={targets.data?.items ?? []} jobs={jobs} />
      </Loaded>
    </ComparePanel>
  )
}

/** Text that is being typed, such as "-", is not always a number yet; "0.10" is to stay as it is. */
function TargetInput({ target, onChange }: { target: number | null; onChange: (target: number | null) => void }) {
  const [typed, setTyped] = useState<number | string>(target ?? "")
  const type = (value: number | string) => {
    setTyped(value)
    if (value === "") onChange(null)
    else if (Number.isFinite(Number(value))) onChange(Number(value))
  }
  return <NumberInput size="xs" w={110} aria-label="Target" placeholder="e.g. 0.9" value={typed} onChange={type} hideControls />
}

function Reaches({ items, jobs }: { items: readonly JobTarget[]; jobs: readonly Compared[] }) {
  const [cost, setCost] = useState<Cost>("seconds")
  const labels = new Map(jobs.map(({ job, label }) => [job.id, label]))
  return (
    <Table.ScrollContainer minWidth={620} type="native" role="group" tabIndex={0} aria-label="Time to a target">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Job</Table.Th>
            {COSTS.map(({ key, label }) => (
              <Table.Th key={key} aria-sort={key === cost ? "ascending" : "none"}>
                <UnstyledButton fz="inherit" fw="inherit" c="inherit" onClick={() => setCost(key)}>
                  <Group gap={4} wrap="nowrap">
                    {label}
                    <IconArrowDown size={13} style={{ visibility: key === cost ? undefined : "hidden" }} aria-hidden />
                  </Group>
                </UnstyledButton>
              </Table.Th>
            ))}
            <Table.Th>Version</Table.Th>
            <Table.Th>Value</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">
          {byCost(items, cost).map((item) => (
            <Table.Tr key={item.job}>
              <Table.Td>
                <Anchor component={Link} to={`/jobs/${item.job}`} c="inherit" fw={550} size="sm">
                  {labels.get(item.job) ?? item.name}
                </Anchor>
              </Table.Td>
              <Reach item={item} items={items} />
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Reach({ item: { reached, best, status }, items }: { item: JobTarget; items: readonly JobTarget[] }) {
  if (!reached) {
    return (
      <Table.Td colSpan={COSTS.length + 2} c="dimmed">
        {hasEnded({ status }) ? "Never" : "Not yet"}
        {best === null ? "; the job has not measured this metric" : `; best ${formatNumber(best)}`}
      </Table.Td>
    )
  }
  return (
    <>
      {COSTS.map(({ key, format }) => (
        <Table.Td key={key}>
          {format(reached[key])}{" "}
          <Text component="span" size="xs" c="dimmed">
            {timesOf(reached, items, key)}
          </Text>
          {key === "samples" && coarseness(reached) && (
            <Text size="xs" c="dimmed" title="Evaluations are far apart. For a closer comparison, evaluate more often.">
              {coarseness(reached)}
            </Text>
          )}
        </Table.Td>
      ))}
      <Table.Td>{formatNumber(reached.version)}</Table.Td>
      <Table.Td>{formatNumber(reached.value)}</Table.Td>
    </>
  )
}
