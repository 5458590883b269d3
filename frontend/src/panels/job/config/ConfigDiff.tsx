import { Box, Select, Table, Text, type ComboboxItem } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { useState } from "react"
import type { JobConfig } from "@/client"
import { TableHead } from "@/components/display/TableHead"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useConfig } from "@/hooks/job/useConfig"
import { useFeed } from "@/hooks/job/useFeed"
import { useJobsNamed } from "@/hooks/jobs/useJobsNamed"
import { put, useAddress } from "@/hooks/useAddress"
import { configDifferences } from "@/lib/compare/fields"
import { formatMoment } from "@/lib/format"

const TYPED_MS = 250

/** The effective values in which this job and another one, which stands in the address, differ. */
export function ConfigDiff() {
  const job = useFeed((feed) => feed.job)
  const [params, edit] = useAddress()
  const other = params.get("against")
  const own = useConfig(job.id, job.shards)
  const theirs = useConfig(other)
  return (
    <Panel title="Compared with another job" subtitle="Values that differ between the two jobs; defaults are filled in" flush>
      <Box px={18} pb="sm">
        <JobPicker own={job.id} value={other} onChange={(id) => edit((next) => put(next, "against", id ?? ""))} />
      </Box>
      {other !== null && (
        <Loaded {...theirs} isPending={own.isPending || theirs.isPending}>
          {own.data && theirs.data && <Differences sides={[own.data, theirs.data]} names={[job.name, nameOf(theirs.data.full)]} />}
        </Loaded>
      )}
    </Panel>
  )
}

function nameOf(spec: object): string {
  return "name" in spec && typeof spec.name === "string" ? spec.name : "the other"
}

function JobPicker({ own, value, onChange }: { own: string; value: string | null; onChange: (id: string | null) => void }) {
  const [typed, setTyped] = useState("")
  const [selected, select] = useState<ComboboxItem | null>(null)
  const [q] = useDebouncedValue(typed === selected?.label ? "" : typed, TYPED_MS)
  const { data: found = [] } = useJobsNamed(q)
  const data = found.filter(({ id }) => id !== own).map(({ id, name, created_at }) => ({ value: id, label: `${name}, ${formatMoment(created_at)}` }))
  const shown = value !== null && !data.some((item) => item.value === value) ? [...data, selected ?? { value, label: value.slice(0, 8) }] : data
  const pick = (id: string | null, option: ComboboxItem | null) => {
    select(option)
    onChange(id)
  }
  return (
    <Select
      size="xs" maw={340} aria-label="Job to compare with" placeholder="Select a job" data={shown} searchable clearable nothingFoundMessage="No job of this name"
      value={value} onChange={pick} filter={({ options }) => options}
      searchValue={typed} onSearchChange={setTyped}
    />
  )
}

function Differences({ sides, names }: { sides: readonly [JobConfig, JobConfig]; names: readonly [string, string] }) {
  const rows = configDifferences(sides)
  if (rows.length === 0) {
    return (
      <Text size="sm" px={18} pb="md">
        Both jobs run with the same values.
      </Text>
    )
  }
  return (
    <Table.ScrollContainer minWidth={420} type="native" role="group" tabIndex={0} aria-label="Differences">
      <Table verticalSpacing={6}>
        <TableHead titles={["Field", ...names]} />
        <Table.Tbody>
          {rows.map(({ path, values }) => (
            <Table.Tr key={path}>
              <Table.Td ff="monospace">{path}</Table.Td>
              {values.map((value, index) => (
                <Table.Td key={index} style={{ overflowWrap: "anywhere" }}>
                  {value}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
