import { Anchor, Switch, Table } from "@mantine/core"
import { Link } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { useComparison } from "@/hooks/compare/useComparison"
import { allPaths, fieldText } from "@/lib/compare/fields"
import type { Compared } from "@/lib/compare/groups"
import { ComparePanel } from "./ComparePanel"
import classes from "./DiffPanel.module.css"

/** The effective values of the jobs beside each other. */
export function DiffPanel({ jobs, paths }: { jobs: readonly Compared[]; paths: readonly string[] }) {
  const [{ all }, change] = useComparison()
  const every = allPaths(jobs.map(({ fields }) => fields))
  const rows = all ? every : paths
  return (
    <ComparePanel
      title="Job files"
      subtitle={`${paths.length} of ${every.length} values differ; defaults are filled in`}
      actions={<Switch size="sm" label="Show all" style={{ whiteSpace: "nowrap" }} checked={all} onChange={(event) => change({ all: event.currentTarget.checked })} />}
      flush
    >
      <Loaded isEmpty={rows.length === 0} empty={jobs.length < 2 ? "Add another job to compare, or show all fields." : "These jobs differ only in their names."}>
        <Table.ScrollContainer minWidth={180 + 130 * jobs.length} mah={520} type="native" role="group" tabIndex={0} aria-label="Job files">
          <Table verticalSpacing={5} stickyHeader>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Field</Table.Th>
                {jobs.map(({ job, label }) => (
                  <Table.Th key={job.id}>
                    <Anchor component={Link} to={`/jobs/${job.id}/config`} c="inherit" fz="inherit">
                      {label}
                    </Anchor>
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((path) => (
                <Table.Tr key={path} data-differs={paths.includes(path) || undefined} className={classes.row}>
                  <Table.Th scope="row" className={classes.path}>
                    {path}
                  </Table.Th>
                  {jobs.map(({ job, fields }) => (
                    <Table.Td key={job.id} className={classes.value}>
                      {fieldText(fields.get(path))}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </Loaded>
    </ComparePanel>
  )
}
