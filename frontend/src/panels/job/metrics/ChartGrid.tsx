import { VisuallyHidden } from "@mantine/core"
import { useState, type CSSProperties, type PointerEvent } from "react"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { ArrangementContext } from "@/hooks/views/useArrangement"
import type { UsedLayout } from "@/hooks/views/useChartLayout"
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
  const [dragged, setDragged] = useState<string | null>(null)
  const [last, setLast] = useState<string | null>(null)
  const all = arranged(names, layout)
  const shown = all.filter((name) => !layout.hidden.includes(name))
  const move = (name: string, to: string | undefined) => {
    if (to === undefined) return null
    return () => {
      change((now) => moved(now, arranged(names, now), name, to))
      setLast(name)
    }
  }
  return (
    <div className={classes.grid} data-columns={layout.columns ?? "auto"} style={layout.columns === null ? undefined : ({ "--columns": layout.columns } as CSSProperties)}>
      {shown.map((name, index) => (
        <ArrangementContext
          key={name}
          value={{
            height,
            moveEarlier: move(name, shown[index - 1]),
            moveLater: move(name, shown[index + 1]),
            hide: () => change((now) => withHidden(now, name)),
            onDrag: (on) => setDragged(on ? name : null),
          }}
        >
          <Place name={name} isTarget={dragged !== null && dragged !== name} onDrop={() => move(dragged!, name)?.()} height={height} onHeight={onHeight} />
        </ArrangementContext>
      ))}
      {last !== null && <Moved name={last} place={shown.indexOf(last) + 1} of={shown.length} />}
    </div>
  )
}

interface PlaceProps extends Pick<ChartGridProps, "height" | "onHeight"> {
  name: string
  /** Another chart is being dragged, which may be dropped here. */
  isTarget: boolean
  onDrop: () => void
}

/** A chart, its place for others to be dropped, and its lower edge, by which all charts are made higher. */
function Place({ name, isTarget, onDrop, height, onHeight }: PlaceProps) {
  const [over, setOver] = useState(false)
  const [from, setFrom] = useState<number | null>(null)
  const heightAt = ({ clientY }: PointerEvent) => heightOf(height + clientY - (from ?? clientY))
  const drag = (event: PointerEvent) => {
    if (from === null || heightAt(event) === height) return
    onHeight(heightAt(event), false)
    setFrom(from + heightAt(event) - height)
  }
  return (
    <div
      className={classes.place}
      data-over={(isTarget && over) || undefined}
      onDragOver={(event) => {
        if (!isTarget) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        if (isTarget) onDrop()
      }}
    >
      <MetricCard name={name} />
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
    </div>
  )
}

/** For those who cannot see where it went. */
function Moved({ name, place, of }: { name: string; place: number; of: number }) {
  const { title } = useMetric(name)
  return <VisuallyHidden role="status">{`${title}: chart ${place} of ${of}`}</VisuallyHidden>
}
