import { useMemo } from "react"
import { ParallelCoordinates } from "@/charts/ParallelCoordinates"
import { ManySelect } from "@/components/inputs/ManySelect"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useComparison } from "@/hooks/compare/useComparison"
import { useNow } from "@/hooks/useNow"
import { allPaths } from "@/lib/compare/fields"
import { groupBy, type Compared } from "@/lib/compare/groups"
import { axesOf } from "@/lib/compare/results"
import { hasEnded } from "@/lib/status"

/** Fields that have an axis unless others are selected. */
const FIRST = 5

/** Settings of the jobs against their results. */
export function ParallelPanel({ jobs, paths }: { jobs: readonly Compared[]; paths: readonly string[] }) {
  const [{ fields, group }, change] = useComparison()
  const now = useNow(jobs.some(({ job }) => !hasEnded(job)))
  const selected = fields ?? paths.slice(0, FIRST)
  const axes = axesOf(jobs, selected, now)
  const lines = useMemo(() => {
    const places = new Map(groupBy(jobs, group).flatMap(({ jobs, index }) => jobs.map(({ job }) => [job.id, index])))
    return jobs.map(({ job, label }) => ({ key: job.id, label, index: places.get(job.id)! }))
  }, [jobs, group])
  const known = new Set([...selected, ...paths, ...allPaths(jobs.map(({ fields }) => fields))])
  return (
    <Panel title="Settings against results" subtitle="One line per job; point at a line or select a name">
      <Loaded isEmpty={jobs.length < 2} empty="Add a second job to see the settings that differ.">
        <ManySelect
          size="xs" mb="md" label="Settings" placeholder={selected.length > 0 ? undefined : "None"} data={[...known]} value={selected} searchable clearable
          clearButtonProps={{ "aria-label": "No settings" }} onPick={(pick) => change((now) => ({ fields: pick(now.fields ?? selected) }))}
        />
        <ParallelCoordinates axes={axes} lines={lines} title="Settings against results" />
      </Loaded>
    </Panel>
  )
}
