import { Table } from "@mantine/core"
import type { ProcessFailure } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useOverview } from "@/hooks/job/useOverview"
import { formatMoment } from "@/lib/format"
import { priceOf } from "@/lib/job/overview"
import { inShort } from "@/lib/job/reasons"
import { readable } from "@/lib/status"

const HEADS = ["Process", "When", "Reason", "Cost"]

/** Processes that ended before their time, and what that cost; nothing where none did. */
export function FailuresPanel() {
  const job = useFeed((feed) => feed.job)
  const { data } = useOverview(job)
  if (!data || data.failures.length === 0) return null
  return (
    <Panel title="Process failures" subtitle="Processes that ended early, and the cost of each failure" flush>
      <Table.ScrollContainer minWidth={640} mah={360} type="native" role="group" tabIndex={0} aria-label="Process failures">
        <Table>
          <TableHead titles={HEADS} />
          <Table.Tbody>
            {data.failures.toReversed().map((failure) => (
              <Row
                key={failure.process_id}
                failure={failure}
                told={inShort(failure.message, job)}
                cost={priceOf(failure, data.attempts, job.spec.roles.worker.count)}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}

function Row({ failure, told, cost }: { failure: ProcessFailure; told: string | null; cost: string }) {
  const { label, attempt, incarnation, at, reason } = failure
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>
        {label}
        {incarnation > 0 && `.${incarnation}`}
      </Table.Td>
      <Table.Td className="numbers" style={{ whiteSpace: "nowrap" }}>
        <time dateTime={at}>{formatMoment(at)}</time>, attempt {attempt}
      </Table.Td>
      <Table.Td style={{ overflowWrap: "anywhere" }}>{told ?? (reason && readable(reason))}</Table.Td>
      <Table.Td className="numbers">{cost}</Table.Td>
    </Table.Tr>
  )
}
