import { ActionIcon, Group, Select, TagsInput, Tooltip } from "@mantine/core"
import { IconDownload } from "@tabler/icons-react"
import { useState } from "react"
import { jobsTableUrl } from "@/client"
import { useJobFields } from "@/hooks/jobs/useJobs"
import type { Change } from "@/hooks/useAddress"
import { exportedColumns, fieldLabel, turned } from "@/lib/jobs/jobColumns"
import { addressOf, isCondition, MOST_CONDITIONS, parametersOf, type JobView } from "@/lib/jobs/jobView"
import { SavedViews } from "@/panels/views/SavedViews"
import { ColumnsMenu } from "./ColumnsMenu"
import classes from "./JobFilterBar.module.css"

interface JobTableBarProps {
  view: JobView
  change: Change<JobView>
}

const GROUPS = ["strategy", "gate", "status", "user", "workers", "tags"]

/** The list as a table of research: conditions, groups, columns, saved views and CSV. */
export function JobTableBar({ view, change }: JobTableBarProps) {
  const [opened, setOpened] = useState(false)
  const settings = useJobFields(opened).data?.settings ?? []
  const groups = [...new Set([...GROUPS, ...(view.group ? [view.group] : []), ...settings])]
  const table = jobsTableUrl({ ...parametersOf(view), column: exportedColumns(view.columns, view.fields) })
  return (
    <div className={classes.table}>
      <Conditions view={view} change={change} />
      <Select
        aria-label="Group by" placeholder="Group by" size="xs" clearable searchable data={groups.map((value) => ({ value, label: fieldLabel(value) === value ? value : `${fieldLabel(value)} (${value})` }))}
        value={view.group} onDropdownOpen={() => setOpened(true)} onChange={(group) => change({ group })} clearButtonProps={{ "aria-label": "Do not group" }}
      />
      <Group gap={8} wrap="nowrap">
        <SavedViews place="jobs" path="/jobs" query={addressOf(view)} />
        <ColumnsMenu
          columns={view.columns} fields={view.fields}
          onTurn={(id) => change((now) => ({ columns: turned(now.columns, id) }))} onFields={(fields) => change({ fields })}
        />
        <Tooltip label="Download all jobs of this list as CSV">
          <ActionIcon variant="default" size={30} component="a" href={table} download aria-label="Download as CSV">
            <IconDownload size={16} />
          </ActionIcon>
        </Tooltip>
      </Group>
    </div>
  )
}

function Conditions({ view, change }: JobTableBarProps) {
  const [refused, setRefused] = useState<string | null>(null)
  return (
    <TagsInput
      size="xs" aria-label="Conditions on settings and results" placeholder={view.where.length > 0 ? undefined : "Conditions: lr>=0.1, eval/accuracy>0.9"}
      value={view.where} maxTags={MOST_CONDITIONS} splitChars={[","]} acceptValueOnBlur={false} clearable clearButtonProps={{ "aria-label": "Remove all conditions" }}
      error={refused !== null && `Condition “${refused}”: write a field, one of = != < <= > >= and a value.`}
      onChange={(all) => {
        setRefused(all.find((each) => !isCondition(each)) ?? null)
        change({ where: all.filter(isCondition) })
      }}
    />
  )
}
