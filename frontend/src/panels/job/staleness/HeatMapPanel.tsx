import { SegmentedControl, Table } from "@mantine/core"
import { useMemo, useState } from "react"
import { HeatMap } from "@/charts/HeatMap"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useAxisView } from "@/hooks/charts/useAxisView"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useColumns } from "@/hooks/charts/useChart"
import { useChartSettings } from "@/hooks/charts/useChartSettings"
import { useMarks } from "@/hooks/charts/useMarks"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useReading } from "@/hooks/charts/useReading"
import { useNothing } from "@/hooks/job/useNothing"
import { useKeys } from "@/hooks/useKeys"
import { shown, wireAxis } from "@/lib/charts/axes"
import { heatOf, slicesRange, type Heat } from "@/lib/staleness/heat"
import { reach } from "@/lib/charts/lines"
import { emptyOf, MEASURES, said, type Measure, type MeasureName } from "@/lib/staleness/stale"

const PX_PER_CELL = 10
const KEYS = [
  { keys: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], label: "Go from cell to cell" },
  { keys: ["Shift ArrowLeft", "Shift ArrowRight"], label: "Select several" },
  { keys: ["Enter", " "], label: "Show their range on all charts" },
]
const CHOICES = (Object.keys(MEASURES) as MeasureName[]).map((value) => ({ value, label: MEASURES[value].label }))
const WORDS = { mean: "Mean", high: "Max" } as const

/** Which worker was how stale when: over the same axis and range as all charts. */
export function HeatMapPanel({ width }: { width: number }) {
  const [{ axis, cell, measure: inWhat }, change] = useChartSettings()
  const measure: Measure = MEASURES[inWhat]
  const nothing = useNothing()
  const range = useRestingRange()
  const slices = Math.floor(width / PX_PER_CELL)
  const chart = useColumns(measure.metric, wireAxis(axis), range, 4 * slices)
  const lines = useReading(chart.data)
  const view = useAxisView(axis)
  const marks = useMarks(view)
  const board = useBoard()
  useKeys("On the heat map", KEYS)
  const [table, setTable] = useState("map")
  const heat = useMemo(() => {
    const ends = reach(lines)
    const seen = range ?? (ends && ends[0] < ends[1] ? { from: ends[0], to: ends[1] } : null)
    return seen && heatOf(lines, seen, slices, cell)
  }, [lines, range, slices, cell])
  const over = `over ${view.wire === "time" ? "time" : view.label.toLowerCase()}`
  const title = `${useMetric(measure.metric).title} of each worker ${over}`
  const format = (x: number, step?: number) => view.format(shown(x, view), step)
  return (
    <Panel
      wide
      tour="staleness"
      title={title}
      subtitle={`${WORDS[cell]} of each cell, ${measure.about}`}
      actions={
        <>
          <SegmentedControl size="xs" aria-label="Unit of staleness" data={CHOICES} value={inWhat} onChange={(value) => change({ measure: value })} />
          <SegmentedControl size="xs" aria-label="Value of a cell" data={[{ value: "mean", label: "Mean" }, { value: "high", label: "Max" }]} value={cell} onChange={(value) => change({ cell: value })} />
          <SegmentedControl size="xs" aria-label="Map or table" data={[{ value: "map", label: "Map" }, { value: "table", label: "Table" }]} value={table} onChange={setTable} />
        </>
      }
    >
      <Loaded {...chart} isPending={chart.isPending || (!chart.isEmpty && lines.length === 0)} isEmpty={chart.isEmpty || !heat?.ranks.length} empty={emptyOf(measure, nothing)}>
        {heat &&
          (table === "table" ? (
            <Numbers title={title} heat={heat} format={format} formatValue={measure.format} />
          ) : (
            <HeatMap heat={heat} label={`${WORDS[cell]} ${measure.name} of ${heat.ranks.length} workers ${over}, up to ${said(measure, heat.highest)}`} view={view} marks={marks} formatValue={(value) => said(measure, value)} none={measure.none} onPick={board.set} />
          ))}
      </Loaded>
    </Panel>
  )
}

/** Every cell, a row for each slice of time. */
function Numbers({ title, heat, format, formatValue }: { title: string; heat: Heat; format: (x: number, step?: number) => string; formatValue: Measure["format"] }) {
  return (
    <Table.ScrollContainer minWidth={480} mah={320} type="native" role="region" tabIndex={0} aria-label={`${title} in numbers`}>
      <Table verticalSpacing={3} stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>From</Table.Th>
            {heat.ranks.map((rank) => (
              <Table.Th key={rank}>worker {rank}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody className="numbers">
          {Array.from({ length: heat.slices }, (_, slice) => (
            <Table.Tr key={slice}>
              <Table.Td>{format(slicesRange(heat, slice).from)}</Table.Td>
              {heat.values.map((cells, row) => (
                <Table.Td key={heat.ranks[row]}>{formatValue(cells[slice] ?? null)}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
