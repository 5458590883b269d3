import { useMemo } from "react"
import { ParallelCoordinates } from "@/charts/ParallelCoordinates"
import { ManySelect } from "@/components/inputs/ManySelect"
import { Loaded } from "@/components/messages/Loaded"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { useNow } from "@/hooks/useNow"
import { allPaths } from "@/lib/compare/fields"
import { groupPlaces } from "@/lib/compare/groups"
import { withRange, type RangeChange } from "@/lib/compare/ranges"
import { axesOf } from "@/lib/compare/results"
import { hasEnded } from "@/lib/status"
import { ComparePanel } from "./ComparePanel"
import { RangeInputs } from "./RangeInputs"

/** Fields that have an axis unless others are selected. */
const FIRST = 5

/** Settings of the jobs against their results. */
export function ParallelPanel({ runs }: { runs: Runs }) {
  const { all, on: jobs, drawn, differing: paths, standsOut, point } = runs
  const [{ fields, group, within }, change] = useComparison()
  const now = useNow(jobs.some(({ job }) => !hasEnded(job)))
  const selected = fields ?? paths.slice(0, FIRST)
  const axes = axesOf(jobs, selected, now)
  const lines = useMemo(() => {
    const places = groupPlaces(all, group)
    const inside = new Set(drawn.map(({ job }) => job.id))
    return jobs.map(({ job, label }) => ({ key: job.id, label, index: places.get(job.id)!, drawn: inside.has(job.id) }))
  }, [all, jobs, drawn, group])
  const setRange = (over: RangeChange) => change((now) => ({ within: withRange(now.within, over) }))
  const known = new Set([...selected, ...paths, ...allPaths(jobs.map(({ fields }) => fields))])
  return (
    <ComparePanel title="Settings against results" subtitle="One line per job; drag along an axis to draw only the jobs in that range">
      <Loaded isEmpty={jobs.length < 2} empty="Show a second job to see the settings that differ.">
        <ManySelect
          size="xs" mb="md" label="Settings" placeholder={selected.length > 0 ? undefined : "None"} data={[...known]} value={selected} searchable clearable
          clearButtonProps={{ "aria-label": "No settings" }} onPick={(pick) => change((now) => ({ fields: pick(now.fields ?? selected) }))}
        />
        <ParallelCoordinates
          axes={axes} lines={lines} title="Settings against results" ranges={within} onRange={setRange} standsOut={standsOut} onPoint={point}
          onPick={(id) => change((now) => ({ pick: now.pick === id ? null : id }))}
        />
        <RangeInputs axes={axes} ranges={within} onRange={setRange} onClear={() => change({ within: [] })} />
      </Loaded>
    </ComparePanel>
  )
}
