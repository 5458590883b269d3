import { Select } from "@mantine/core"
import { ArrangedGrid } from "@/components/arrange/ArrangedGrid"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { BoardContext, useBoardStore } from "@/hooks/charts/useBoard"
import { useCatalogue } from "@/hooks/charts/useMetricCatalogue"
import type { ComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import type { Runs } from "@/hooks/compare/useRuns"
import { useChartKeys } from "@/hooks/useKeys"
import { entryOf } from "@/lib/charts/metrics"
import { movedPanel, PANEL_TITLES, withoutPanel, withSettings, type ComparePanel } from "@/lib/views/comparePanels"
import { CompareToolbar } from "./CompareToolbar"
import { CurvesPanel } from "./CurvesPanel"
import { DiffPanel } from "./DiffPanel"
import { ImportancePanel } from "./ImportancePanel"
import { ParallelPanel } from "./ParallelPanel"
import { ScatterPanel, type ScatterAxes } from "./ScatterPanel"
import { TargetPanel } from "./TargetPanel"

interface ComparePanelsProps {
  runs: Runs
  metric: ComparedMetric
}

/** The panels of the comparison, as the address lists them. */
export function ComparePanels({ runs, metric }: ComparePanelsProps) {
  const [{ panels, gridColumns }, change] = useComparison()
  const catalogue = useCatalogue()
  useChartKeys()
  const find = (id: string) => panels.find((panel) => panel.id === id)!
  const titleOf = (id: string) => {
    const { kind, of } = find(id)
    if (kind === "plot") return [of[1], of[0]].map((key) => runs.fields.find((field) => field.key === key)?.label ?? key).join(" against ")
    return kind === "curves" || kind === "curve" ? entryOf(catalogue, of[0] ?? metric.name).title : PANEL_TITLES[kind]
  }
  return (
    <BoardContext value={useBoardStore()}>
      <ArrangedGrid
        items={panels.map(({ id }) => id)}
        titleOf={titleOf}
        noun="panel"
        columns={gridColumns}
        wide
        onMove={(id, to) => change((now) => ({ panels: movedPanel(now.panels, id, to) }))}
        onHide={(id) => change((now) => ({ panels: withoutPanel(now.panels, id) }))}
      >
        {(id) => <PanelOf panel={find(id)} runs={runs} metric={metric} />}
      </ArrangedGrid>
      {panels.length === 0 && (
        <Panel>
          <Loaded isEmpty empty="No panel is shown. Add one with Panels above." height={200}>
            {null}
          </Loaded>
        </Panel>
      )}
    </BoardContext>
  )
}

interface PanelOfProps extends ComparePanelsProps {
  panel: ComparePanel
}

function PanelOf({ panel, runs, metric }: PanelOfProps) {
  switch (panel.kind) {
    case "curves":
      return <CurvesPanel runs={runs} name={metric.name} target={metric.target} controls={<CompareToolbar metric={metric} paths={runs.differing} />} />
    case "curve":
      return <OtherCurves panel={panel} runs={runs} metric={metric} />
    case "target":
      return <TargetPanel jobs={runs.drawn} metric={metric} />
    case "scatter":
      return <FirstPlot runs={runs} />
    case "plot":
      return <OtherPlot panel={panel} runs={runs} />
    case "parallel":
      return <ParallelPanel runs={runs} />
    case "importance":
      return <ImportancePanel runs={runs} metric={metric} />
    case "diff":
      return <DiffPanel jobs={runs.all} paths={runs.differing} />
  }
}

/** Curves of a metric of its own, on the axis and in the groups of all. */
function OtherCurves({ panel: { id, of }, runs, metric: { names } }: PanelOfProps) {
  const [, change] = useComparison()
  const catalogue = useCatalogue()
  const name = of[0]!
  const known = names.includes(name) ? names : [name, ...names]
  return (
    <CurvesPanel
      runs={runs} name={name} target={null}
      controls={
        <Select
          size="xs" mb="sm" w={240} label="Metric" data={known.map((each) => ({ value: each, label: entryOf(catalogue, each).title }))} value={name} allowDeselect={false} searchable
          onChange={(other) => other && change((now) => ({ panels: withSettings(now.panels, id, [other]) }))}
        />
      }
    />
  )
}

/** The scatter plot whose fields stand in the address by themselves, as in addresses that list no panels. */
function FirstPlot({ runs }: { runs: Runs }) {
  const [{ scatterX, scatterY, scatterLog }, change] = useComparison()
  const set = ({ x, y, log }: Partial<ScatterAxes>) =>
    change({ ...(x !== undefined && { scatterX: x }), ...(y !== undefined && { scatterY: y }), ...(log !== undefined && { scatterLog: log as typeof scatterLog }) })
  return <ScatterPanel title={PANEL_TITLES.scatter} runs={runs} axes={{ x: scatterX, y: scatterY, log: scatterLog }} onAxes={set} />
}

function OtherPlot({ panel: { id, of }, runs }: { panel: ComparePanel; runs: Runs }) {
  const [, change] = useComparison()
  const axes = { x: of[0]!, y: of[1]!, log: of[2] ?? "" }
  const set = ({ x, y, log }: Partial<ScatterAxes>) => change((now) => ({ panels: withSettings(now.panels, id, [x ?? axes.x, y ?? axes.y, log ?? axes.log]) }))
  return <ScatterPanel runs={runs} axes={axes} onAxes={set} />
}
