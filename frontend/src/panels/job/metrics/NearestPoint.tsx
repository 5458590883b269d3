import { Anchor } from "@mantine/core"
import { useBoard, useRestingRange } from "@/hooks/charts/useBoard"
import { useNearestPoint } from "@/hooks/charts/useNearestPoint"
import { useOpenedFeed } from "@/hooks/job/useFeed"
import { shown, type AxisView, type Range } from "@/lib/charts/axes"
import { around } from "@/lib/charts/nearest"

/** Said of a chart without a point in the visible range, with a way to the nearest. */
export function NearestPoint({ name, view }: { name: string; view: AxisView }) {
  const range = useRestingRange()
  return range && <Nearest name={name} view={view} range={range} />
}

function Nearest({ name, view, range }: { name: string; view: AxisView; range: Range }) {
  const board = useBoard()
  const { opened } = useOpenedFeed()
  const { data: place } = useNearestPoint(opened.id, name, { axis: view.wire, range })
  if (place == null) return <>No point here.</>
  return (
    <span>
      No point here; the nearest is at{" "}
      <Anchor component="button" type="button" size="sm" onClick={() => board.set(around(place, range))}>
        {view.exact(shown(place, view))}
      </Anchor>
    </span>
  )
}
