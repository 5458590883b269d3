import { Box, Select, Table, Text, type ComboboxItem } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { useState } from "react"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useConfig } from "@/hooks/queries/useConfig"
import { useJobsNamed } from "@/hooks/queries/useJobsNamed"
import { put, useAddress } from "@/hooks/useAddress"
import { useFeed } from "@/hooks/useFeed"
import { differingPaths, fieldsOf, fieldText } from "@/lib/compare/fields"
import { formatMoment } from "@/lib/format"

const TYPED_MS = 250

/** The fields in which this job and another one, which stands in the address, differ. */
export function ConfigDiff() {
  const job = useFeed((feed) => feed.job)
  const [params, edit] = useAddress()
  const other = params.get("against")
  const own = useConfig(job.id, job.shards)
  const theirs = useConfig(other)
  return (
    <Panel title="Compared with another job" subtitle="The fields in which the two job files differ" flush>
      <Box px={18} pb="sm">
        <JobPicker own={job.id} value={other} onChange={(id) => edit((next) => put(next, "against", id ?? ""))} />
      </Box>
      {other !== null && (
        <Loaded {...theirs} isPending={own.isPending || theirs.isPending}>
          {own.data && theirs.data && <Differences own={own.data.full} theirs={theirs.data.full} names={[job.name, nameOf(theirs.data.full)]} />}
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
  const [chosen, choose] = useState<ComboboxItem | null>(null)
  const [q] = useDebouncedValue(typed === chosen?.label ? "" : typed, TYPED_MS)
  const { data: found = [] } = useJobsNamed(q)
  const data = found.filter(({ id }) => id !== own).map(({ id, name, created_at }) => ({ value: id, label: `${name}, ${formatMoment(created_at)}` }))
  const shown = value !== null && !data.some((item) => item.value === value) ? [...data, chosen ?? { value, label: value.slice(0, 8) }] : data
  const pick = (id: string | null, option: ComboboxItem | null) => {
    choose(option)
    onChange(id)
  }
  return (
    <Select
      size="xs" maw={340} aria-label="Job to compare with" placeholder="Choose a job" data={shown} searchable clearable nothingFoundMessage="No job of this name"
      value={value} onChange={pick} filter={({ options }) => options}
      searchValue={typed} onSearchChange={setTyped}
    />
  )
}

function Differences({ own, theirs, names }: { own: object; theirs: object; names: readonly [string, string] }) {
  const sides = [fieldsOf(own), fieldsOf(theirs)]
  const paths = differingPaths(sides)
  if (paths.length === 0) {
    return (
      <Text size="sm" px={18} pb="md">
        Both job files say the same.
      </Text>
    )
  }
  return (
    <Table.ScrollContainer minWidth={420} type="native" role="group" tabIndex={0} aria-label="Differences">
      <Table verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            {["Field", ...names].map((head, index) => (
              <Table.Th key={index}>{head}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {paths.map((path) => (
            <Table.Tr key={path}>
              <Table.Td ff="monospace">{path}</Table.Td>
              {sides.map((fields, index) => (
                <Table.Td key={index} style={{ overflowWrap: "anywhere" }}>
                  {fieldText(fields.get(path))}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
