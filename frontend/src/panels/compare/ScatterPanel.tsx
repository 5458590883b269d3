import { Group, Select, Switch, Text } from "@mantine/core"
import { useMemo } from "react"
import { ScatterPlot } from "@/charts/ScatterPlot"
import { Loaded } from "@/components/messages/Loaded"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { groupPlaces } from "@/lib/compare/groups"
import { fieldChoices } from "@/lib/compare/runs"
import { notPlaced, scatterAxis, scatterPoints } from "@/lib/compare/scatter"
import { ComparePanel } from "./ComparePanel"

/** Fields on both axes, and the axes that are logarithmic; null: the first field that says something. */
export interface ScatterAxes {
  x: string | null
  y: string | null
  log: string
}

interface ScatterPanelProps {
  /** Undefined: the fields are the title. */
  title?: string
  runs: Runs
  axes: ScatterAxes
  onAxes: (over: Partial<ScatterAxes>) => void
}

/** Any two settings or results of the drawn jobs against each other. */
export function ScatterPanel({ title, runs, axes: chosen, onAxes }: ScatterPanelProps) {
  const { all, drawn, fields, differing, standsOut, point } = runs
  const [{ group }, change] = useComparison()
  const places = useMemo(() => groupPlaces(all, group), [all, group])
  const find = (...keys: (string | null | undefined)[]) => keys.map((wanted) => fields.find(({ key }) => key === wanted)).find(Boolean) ?? fields[0]!
  const [x, y] = [find(chosen.x, differing[0], "samples"), find(chosen.y, "best", "last")]
  const [logX, logY] = [chosen.log.includes("x"), chosen.log.includes("y")]
  const axes = [scatterAxis(x, drawn, logX), scatterAxis(y, drawn, logY)] as const
  const points = scatterPoints(drawn, ...axes, places)
  const setLog = (x: boolean, y: boolean) => onAxes({ log: `${x ? "x" : ""}${y ? "y" : ""}` })
  const name = title ?? `${y.label} against ${x.label}`
  const pick = (id: string) => change((now) => ({ pick: now.pick === id ? null : id }))
  const choices = fieldChoices(fields)
  const said = notPlaced(axes)
  return (
    <ComparePanel title={name} subtitle="One dot per job; click a dot to highlight the job">
      <Group gap="sm" align="flex-end" mb="sm">
        <Select size="xs" label="Field on X" flex="1 1 140px" maw={240} data={choices} value={x.key} allowDeselect={false} searchable onChange={(key) => key && onAxes({ x: key })} />
        <Select size="xs" label="Field on Y" flex="1 1 140px" maw={240} data={choices} value={y.key} allowDeselect={false} searchable onChange={(key) => key && onAxes({ y: key })} />
        <Switch size="xs" label="Log X" checked={logX} onChange={(event) => setLog(event.currentTarget.checked, logY)} pb={6} />
        <Switch size="xs" label="Log Y" checked={logY} onChange={(event) => setLog(logX, event.currentTarget.checked)} pb={6} />
      </Group>
      {said && (
        <Text size="sm" c="dimmed" mb="xs">
          {said}
        </Text>
      )}
      <Loaded isEmpty={points.length === 0} empty="No drawn job has a value of both fields.">
        <ScatterPlot x={axes[0]} y={axes[1]} points={points} title={name} standsOut={standsOut} onPoint={point} onPick={pick} />
      </Loaded>
    </ComparePanel>
  )
}
