import { Table, TextInput } from "@mantine/core"
import { useState } from "react"
import type { JobParameters } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useParameters } from "@/hooks/job/useParameters"
import { counted, formatCount, formatNumber, formatPercent } from "@/lib/format"

type ParameterTable = NonNullable<JobParameters["table"]>

const HEADS = ["Parameter", "Shape", "Elements", "Share", "Type", "Device", "Trained", "Norm"]
/** Fewer need no search. */
const SEARCHED = 12

/** Name, shape, size and norm of each parameter of the model. */
export function ParametersPanel() {
  const job = useFeed((feed) => feed.job)
  const { data, ...asked } = useParameters(job)
  const [wanted, want] = useState("")
  const nothing = useNothing()
  const table = data?.table ?? null
  const found = table?.parameters.filter(({ name }) => name.toLowerCase().includes(wanted.trim().toLowerCase())) ?? []
  return (
    <Panel
      title="Parameters"
      subtitle={table && `${sizeText(table)} Norms are of worker 0 after ${counted(table.step, "mini-batch", "mini-batches")}, from version ${formatCount(table.base)}.`}
      actions={
        table &&
        table.parameters.length > SEARCHED && (
          <TextInput size="xs" type="search" aria-label="Search parameters" placeholder="Search" value={wanted} onChange={(event) => want(event.currentTarget.value)} />
        )
      }
      flush
    >
      <Loaded {...asked} isEmpty={data !== undefined && found.length === 0} empty={table ? "No match" : nothing("No parameters have been recorded")}>
        {table && <Rows parameters={found} total={table.total} />}
      </Loaded>
    </Panel>
  )
}

function sizeText({ total, trained, left_out }: ParameterTable): string {
  const frozen = trained < total ? `, ${formatCount(trained)} of them trained` : ""
  const more = left_out ? ` ${formatCount(left_out)} more parameters are not listed.` : ""
  return `${counted(total, "element")}${frozen}.${more}`
}

function Rows({ parameters, total }: { parameters: ParameterTable["parameters"]; total: number }) {
  return (
    <Table.ScrollContainer minWidth={680} mah={460} type="native" role="region" tabIndex={0} aria-label="Parameters of the model">
      <Table verticalSpacing={4} stickyHeader>
        <TableHead titles={HEADS} />
        <Table.Tbody className="numbers">
          {parameters.map(({ name, shape, count, dtype, device, requires_grad, norm }) => (
            <Table.Tr key={name}>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{name}</Table.Td>
              <Table.Td style={{ whiteSpace: "nowrap" }}>{shape.join(" × ") || "scalar"}</Table.Td>
              <Table.Td>{formatCount(count)}</Table.Td>
              <Table.Td>{formatPercent(total ? count / total : 0)}</Table.Td>
              <Table.Td>{dtype}</Table.Td>
              <Table.Td>{device}</Table.Td>
              <Table.Td>{requires_grad ? "yes" : "frozen"}</Table.Td>
              <Table.Td>{norm === null ? "not finite" : formatNumber(norm)}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
