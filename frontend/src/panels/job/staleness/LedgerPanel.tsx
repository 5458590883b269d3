import { Table } from "@mantine/core"
import { AddsUp } from "@/components/display/AddsUp"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useRestingRange } from "@/hooks/charts/useBoard"
import { useColumns } from "@/hooks/charts/useChart"
import { useReading } from "@/hooks/charts/useReading"
import { useNothing } from "@/hooks/job/useNothing"
import { formatCount, formatPercent } from "@/lib/format"
import { accounts, OUTCOMES, type PushOutcome, type WorkerAccount } from "@/lib/job/ledger"

/** Only the latest values are wanted. */
const COLUMNS = 200
const HEADS = ["Worker", "Pushed", "= Applied", "+ Deferred", "+ Dropped", "+ Pending", "+ Rolled back", "Share applied", "Adds up"]

const WHOLE = "Outcome of every push, over all attempts"
/** A push is counted when it comes, its outcome when it is decided, and as rolled back when the job returns to a checkpoint: in a range these would not add up. */
const NO_RANGE = "The whole job, not the visible range: a push and its outcome can lie on different sides of its edges"

/** Outcomes of each worker's pushes. */
export function LedgerPanel() {
  const pushed = useLedger("pushed")
  const latest = {
    pushed: pushed.latest,
    applied: useLedger("applied").latest, deferred: useLedger("deferred").latest, dropped: useLedger("dropped").latest,
    pending: useLedger("pending").latest, rolled_back: useLedger("rolled_back").latest,
  }
  const rows = accounts(latest)
  const range = useRestingRange()
  const nothing = useNothing()
  return (
    <Panel wide flush tour="ledger" title="Ledger" subtitle={range ? `${WHOLE}. ${NO_RANGE}` : `${WHOLE}: every push has one outcome`}>
      <Loaded {...pushed.chart} isEmpty={rows.length === 0} empty={nothing("No push has been made")}>
        <Table.ScrollContainer minWidth={640} type="native" role="region" tabIndex={0} aria-label="Ledger of each worker">
          <Table verticalSpacing={6}>
            <TableHead titles={HEADS} />
            <Table.Tbody className="numbers">
              {rows.map((account) => (
                <Row key={account.rank} account={account} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ account }: { account: WorkerAccount }) {
  const { rank, pushed, applied, missing } = account
  return (
    <Table.Tr>
      <Table.Td fw={550} style={{ whiteSpace: "nowrap" }}>worker {rank}</Table.Td>
      <Table.Td>{formatCount(pushed)}</Table.Td>
      {OUTCOMES.map(({ name }) => (
        <Table.Td key={name}>{formatCount(account[name])}</Table.Td>
      ))}
      <Table.Td style={{ whiteSpace: "nowrap" }}>{formatPercent(pushed > 0 ? applied / pushed : null)}</Table.Td>
      <Table.Td><AddsUp missing={missing} /></Table.Td>
    </Table.Tr>
  )
}

/** Latest value by worker; over time, so that the live attempt's is the last. */
function useLedger(what: "pushed" | PushOutcome) {
  const chart = useColumns(`ledger/${what}`, "time", null, COLUMNS)
  const lines = useReading(chart.data)
  return { chart, latest: new Map(lines.flatMap(({ rank, latest }) => (latest === null ? [] : [[rank, latest] as const]))) }
}
