import { Anchor, Table, Text } from "@mantine/core"
import { Link } from "react-router"
import type { FieldStatistics, JobGroup } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { SUMMED, useJobGroups } from "@/hooks/jobs/useJobs"
import { formatCount, formatFigure, NONE } from "@/lib/format"
import { COLUMNS, fieldLabel } from "@/lib/jobs/jobColumns"
import { addressOf, conditionOf, type JobView } from "@/lib/jobs/jobView"

/** The jobs of the list by the value of a field: how many, and mean and spread of their numbers. */
export function GroupsTable({ view, group }: { view: JobView; group: string }) {
  const groups = useJobGroups(view, group)
  const items = groups.data?.items ?? []
  const columns = [...SUMMED.filter((id) => view.columns.includes(id)), ...view.fields]
  const labels = columns.map((id) => COLUMNS.find((column) => column.id === id)?.label ?? fieldLabel(id))
  return (
    <Loaded {...groups} isEmpty={items.length === 0} empty="No job matches these filters." height={280}>
      <Table.ScrollContainer minWidth={320 + 120 * columns.length} type="native" role="region" tabIndex={0} aria-label={`Jobs by ${fieldLabel(group)}`}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{fieldLabel(group)}</Table.Th>
              <Table.Th ta="right">Jobs</Table.Th>
              {labels.map((label) => (
                <Table.Th key={label} ta="right">
                  {label}, mean ± spread
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody className="numbers">
            {items.map((item) => (
              <Row key={JSON.stringify(item.value)} item={item} columns={columns} view={view} group={group} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="dimmed" px={18} py={8}>
        The spread is the standard deviation of the sample.{groups.data?.more && ` The largest ${items.length} groups are shown.`}
      </Text>
    </Loaded>
  )
}

function Row({ item: { value, jobs, columns: found }, columns, view, group }: { item: JobGroup; columns: readonly string[]; view: JobView; group: string }) {
  const text = value === null ? NONE : String(value)
  return (
    <Table.Tr>
      <Table.Td>
        {value === null ? text : (
          <Anchor component={Link} size="sm" to={`/jobs?${addressOf({ ...view, group: null, where: [...view.where, conditionOf(group, value)] })}`}>
            {text}
          </Anchor>
        )}
      </Table.Td>
      <Table.Td ta="right">{formatCount(jobs)}</Table.Td>
      {columns.map((id) => (
        <Table.Td key={id} ta="right">
          <Statistics found={found[id]} jobs={jobs} />
        </Table.Td>
      ))}
    </Table.Tr>
  )
}

function Statistics({ found, jobs }: { found: FieldStatistics | undefined; jobs: number }) {
  if (!found) return NONE
  const { count, mean, spread, low, high } = found
  return (
    <span title={`${formatFigure(low)} to ${formatFigure(high)}, ${count} of ${jobs} jobs`}>
      {formatFigure(mean)} {spread !== null && <Text span size="xs" c="dimmed">± {formatFigure(spread)}</Text>}
      {count < jobs && <Text span size="xs" c="dimmed">{` (${formatCount(count)})`}</Text>}
    </span>
  )
}
