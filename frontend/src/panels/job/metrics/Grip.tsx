import { useArrangement } from "@/hooks/views/useArrangement"
import classes from "./ChartGrid.module.css"

/** The title of a chart, by which it is dragged to another place in its group. The chart's menu moves it by keys. */
export function Grip({ title }: { title: string }) {
  const arrangement = useArrangement()
  return (
    <span
      className={classes.grip}
      draggable
      title={`${title}: drag to another place`}
      onDragStart={(event) => {
        event.dataTransfer.effectAllowed = "move"
        event.dataTransfer.setData("text/plain", title)
        arrangement?.onDrag(true)
      }}
      onDragEnd={() => arrangement?.onDrag(false)}
    >
      {title}
    </span>
  )
}
