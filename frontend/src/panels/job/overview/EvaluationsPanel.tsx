import { Table } from "@mantine/core"
import type { Overview } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Panel } from "@/components/page/Panel"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useFeed } from "@/hooks/job/useFeed"
import { useOverview } from "@/hooks/job/useOverview"
import { formatCount } from "@/lib/format"
import { bestOf, formatEvaluated } from "@/lib/job/evaluations"

/** Latest and best value of each evaluated metric. Nothing where there is one at most: a tile has it. */
export function EvaluationsPanel() {
  const job = useFeed((feed) => feed.job)
  const { best = [] } = useOverview(job).data ?? {}
  if (best.length < 2) return null
  return (
    <Panel title="Evaluations" subtitle="Latest and best value of each metric" flush>
      <Table.ScrollContainer minWidth={440} mah={360} type="native" role="group" tabIndex={0} aria-label="Evaluations">
        <Table>
          <TableHead titles={["Metric", "Latest", "Best", "Reached"]} />
          <Table.Tbody className="numbers">
            {best.map((one) => (
              <Row key={one.metric} best={one} latest={job.progress.eval?.[one.metric.slice("eval/".length)]} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

function Row({ best, latest }: { best: Overview["best"][number]; latest: number | null | undefined }) {
  const { title } = useMetric(best.metric)
  const name = best.metric.slice("eval/".length)
  const { value, when, version } = bestOf(best, latest)
  return (
    <Table.Tr>
      <Table.Td fw={550}>{title}</Table.Td>
      <Table.Td>{formatEvaluated(name, latest, 4)}</Table.Td>
      <Table.Td>{formatEvaluated(name, value, 4)}</Table.Td>
      <Table.Td>{version === null ? when : `${when}, version ${formatCount(version)}`}</Table.Td>
    </Table.Tr>
  )
}
