import { SegmentedControl, Table } from "@mantine/core"
import { useMemo, useState } from "react"
import { HeatMap } from "@/charts/HeatMap"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useAxisView } from "@/hooks/useAxisView"
import { useBoard, useRestingRange } from "@/hooks/useBoard"
import { useChartSettings } from "@/hooks/useChartSettings"
import { useColumns } from "@/hooks/useChart"
import { useReading } from "@/hooks/useReading"
import { shown, wireAxis, type Range } from "@/lib/axes"
import { formatNumber } from "@/lib/format"
import { heatOf, sliceRange, type Heat } from "@/lib/heat"
import { reach } from "@/lib/lines"

const NAME = "train/staleness"
const PX_PER_CELL = 10
const WORDS = { mean: "Mean", high: "Highest" } as const

/** Which worker was how stale when. Time is its axis, whatever the charts' is. */
export function HeatMapPanel({ width }: { width: number }) {
  const [{ axis, cell }, change] = useChartSettings()
  const resting = useRestingRange()
  const timed = wireAxis(axis) === "time"
  const range = timed ? resting : null
  const slices = Math.floor(width / PX_PER_CELL)
  const chart = useColumns(NAME, "time", range, 4 * slices)
  const lines = useReading(chart.data)
  const view = useAxisView(axis === "wall" ? "wall" : "time")
  const board = useBoard()
  const [table, setTable] = useState("map")
  const heat = useMemo(() => {
    const ends = reach(lines)
    const seen = range ?? (ends && ends[0] < ends[1] ? { from: ends[0], to: ends[1] } : null)
    return seen && heatOf(lines, seen, slices, cell)
  }, [lines, range, slices, cell])
  const pick = (picked: Range) => {
    if (timed) board.set(picked)
    else change({ axis: "time", range: picked })
  }
  const format = (x: number, step?: number) => view.format(shown(x, view), step)
  return (
    <Panel
      wide
      title="Staleness of each worker over time"
      subtitle={`${WORDS[cell]} of each cell, in updates`}
      actions={
        <>
          <SegmentedControl size="xs" aria-label="What a cell shows" data={[{ value: "mean", label: "Mean" }, { value: "high", label: "Highest" }]} value={cell} onChange={(value) => change({ cell: value })} />
          <SegmentedControl size="xs" aria-label="How it is shown" data={[{ value: "map", label: "Map" }, { value: "table", label: "Numbers" }]} value={table} onChange={setTable} />
        </>
      }
    >
      <Loaded {...chart} isPending={chart.isPending || (!chart.isEmpty && lines.length === 0)} isEmpty={chart.isEmpty || !heat?.ranks.length} empty="No push has been applied yet.">
        {heat &&
          (table === "table" ? (
            <Numbers heat={heat} format={format} />
          ) : (
            <HeatMap heat={heat} label={`${WORDS[cell]} staleness of ${heat.ranks.length} workers over time, up to ${formatNumber(heat.highest)} updates`} unit="updates" formatX={format} formatValue={formatNumber} onPick={pick} />
          ))}
      </Loaded>
    </Panel>
  )
}

/** Every cell, a row for each slice of time. */
function Numbers({ heat, format }: { heat: Heat; format: (x: number, step?: number) => string }) {
  return (
    <Table.ScrollContainer minWidth={480} mah={320} type="native" role="region" tabIndex={0} aria-label="Staleness of each worker over time in numbers">
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
              <Table.Td>{format(sliceRange(heat, slice).from)}</Table.Td>
              {heat.values.map((cells, row) => (
                <Table.Td key={heat.ranks[row]}>{formatNumber(cells[slice])}</Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}
