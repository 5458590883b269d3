import { useArrangement } from "@/hooks/views/useArrangement"
import classes from "./ArrangedGrid.module.css"

/** A title by which a chart or panel is dragged to another place in its grid. The menu moves it by keys. */
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
