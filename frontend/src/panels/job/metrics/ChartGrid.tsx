import { useState, type PointerEvent } from "react"
import { ArrangedGrid } from "@/components/arrange/ArrangedGrid"
import { useCatalogue } from "@/hooks/charts/useMetricCatalogue"
import type { UsedLayout } from "@/hooks/views/useChartLayout"
import { entryOf } from "@/lib/charts/metrics"
import { arranged, heightOf, moved, withHidden } from "@/lib/views/chartLayout"
import classes from "./ChartGrid.module.css"
import { MetricCard } from "./MetricCard"

interface ChartGridProps {
  /** All metrics of a group. */
  names: readonly string[]
  used: UsedLayout
  /** Pixels of each plot; while one drags, those that it would have. */
  height: number
  onHeight: (height: number, done: boolean) => void
}

/** The charts of a group, in the user's order, columns and height. */
export function ChartGrid({ names, used: { layout, change }, height, onHeight }: ChartGridProps) {
  const catalogue = useCatalogue()
  return (
    <ArrangedGrid
      items={arranged(names, layout).filter((name) => !layout.hidden.includes(name))}
      titleOf={(name) => entryOf(catalogue, name).title}
      noun="chart"
      columns={layout.columns}
      height={height}
      onMove={(name, to) => change((now) => moved(now, arranged(names, now), name, to))}
      onHide={(name) => change((now) => withHidden(now, name))}
    >
      {(name) => (
        <>
          <MetricCard name={name} />
          <Edge height={height} onHeight={onHeight} />
        </>
      )}
    </ArrangedGrid>
  )
}

/** The lower edge of a chart, by which all charts are made higher. */
function Edge({ height, onHeight }: Pick<ChartGridProps, "height" | "onHeight">) {
  const [from, setFrom] = useState<number | null>(null)
  const heightAt = ({ clientY }: PointerEvent) => heightOf(height + clientY - (from ?? clientY))
  const drag = (event: PointerEvent) => {
    if (from === null || heightAt(event) === height) return
    onHeight(heightAt(event), false)
    setFrom(from + heightAt(event) - height)
  }
  return (
    <div
      className={classes.edge}
      title="Drag to change the height of all charts"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        setFrom(event.clientY)
      }}
      onPointerMove={drag}
      onLostPointerCapture={() => {
        setFrom(null)
        onHeight(height, true)
      }}
    />
  )
}
