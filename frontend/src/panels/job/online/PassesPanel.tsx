import { Anchor, Table, Text } from "@mantine/core"
import { Link } from "react-router"
import type { JobExport } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import type { usePasses } from "@/hooks/job/usePasses"
import { formatCount } from "@/lib/format"
import type { ClosedPass } from "@/lib/job/passes"

const HEADS = ["Pass", "AUC", "Log loss", "Calibration", "Exports"]

/** The newest closed passes over the data, with the exports at their ends. */
export function PassesPanel({ chart, passes, behind }: ReturnType<typeof usePasses>) {
  const nothing = useNothing()
  const lag = behind === null ? "" : ` Workers have still to train ${formatCount(behind)} examples.`
  return (
    <Panel wide flush title={<Term word="pass">Passes</Term>} subtitle={`Each example is predicted before the model learns from it. A pass closes when all workers have trained it.${lag}`}>
      <Loaded {...chart} isEmpty={passes.length === 0} empty={nothing("No pass has closed")}>
        <Table.ScrollContainer minWidth={0} mah={420} type="native" role="region" tabIndex={0} aria-label="Closed passes">
          <Table verticalSpacing={6} stickyHeader>
            <TableHead titles={HEADS} />
            <Table.Tbody className="numbers">
              {passes.map((pass) => (
                <Row key={pass.number} pass={pass} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </Panel>
  )
}

function Row({ pass: { number, auc, log_loss, calibration, exports } }: { pass: ClosedPass }) {
  const id = useFeed((feed) => feed.job.id)
  return (
    <Table.Tr>
      <Table.Td fw={550}>{formatCount(number)}</Table.Td>
      {[auc, log_loss, calibration].map((value, place) => (
        <Table.Td key={place}>{value?.toFixed(4) ?? "–"}</Table.Td>
      ))}
      <Table.Td style={{ whiteSpace: "nowrap" }}>
        {exports.length === 0 ? (
          <Text size="sm" c="dimmed">
            none
          </Text>
        ) : (
          exports.map((item) => (
            <Anchor key={item.number} component={Link} to={`/jobs/${id}/files`} size="sm" style={{ display: "block" }}>
              {title(item)}
            </Anchor>
          ))
        )}
      </Table.Td>
    </Table.Tr>
  )
}

function title({ number, base }: JobExport): string {
  return `${number}, ${base ? "a base" : "a delta"}`
}
