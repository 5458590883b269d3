import { VisuallyHidden } from "@mantine/core"
import { useEffect, useRef, useState, type CSSProperties, type ReactNode } from "react"
import { ArrangementContext } from "@/hooks/views/useArrangement"
import classes from "./ArrangedGrid.module.css"

interface ArrangedGridProps<Item extends string> {
  /** In their order. */
  items: readonly Item[]
  titleOf: (item: Item) => string
  /** The word for one of them. */
  noun: string
  /** Null: as many as fit. */
  columns: number | null
  /** Wider gaps and columns, for panels with tables. */
  wide?: boolean
  /** Pixels of each plot, where all have one height. */
  height?: number
  onMove: (item: Item, to: Item) => void
  onHide: (item: Item) => void
  children: (item: Item) => ReactNode
}

/** Items that the user moves, by dragging a grip or by their menus, and hides. Says where one went, and keeps the focus when one leaves. */
export function ArrangedGrid<Item extends string>({ items, titleOf, noun, columns, wide = false, height, onMove, onHide, children }: ArrangedGridProps<Item>) {
  /** Not a state: where it may be dropped is asked with the next event, which may come before a rendering. */
  const dragged = useRef<Item>(null)
  const [last, setLast] = useState<Item | null>(null)
  const grid = useRef<HTMLDivElement>(null)
  const leaving = useRef<Item>(null)
  useEffect(() => {
    if (leaving.current === null || items.includes(leaving.current)) return
    leaving.current = null
    grid.current?.focus({ preventScroll: true }) // the menu that had it left with the item
  }, [items])
  const move = (item: Item, to: Item | undefined) => {
    if (to === undefined) return null
    return () => {
      onMove(item, to)
      setLast(item)
    }
  }
  const hide = (item: Item) => {
    leaving.current = item
    onHide(item)
  }
  return (
    <div
      ref={grid} tabIndex={-1} className={classes.grid} data-wide={wide || undefined} data-columns={columns ?? "auto"}
      style={columns === null ? undefined : ({ "--columns": columns } as CSSProperties)}
    >
      {items.map((item, index) => (
        <ArrangementContext
          key={item}
          value={{
            height,
            moveEarlier: move(item, items[index - 1]),
            moveLater: move(item, items[index + 1]),
            hide: () => hide(item),
            onDrag: (on) => void (dragged.current = on ? item : null),
          }}
        >
          <Place isTarget={() => dragged.current !== null && dragged.current !== item} onDrop={() => move(dragged.current!, item)?.()}>
            {children(item)}
          </Place>
        </ArrangementContext>
      ))}
      {last !== null && items.includes(last) && <VisuallyHidden role="status">{`${titleOf(last)}: ${noun} ${items.indexOf(last) + 1} of ${items.length}`}</VisuallyHidden>}
    </div>
  )
}

interface PlaceProps {
  /** Another item is being dragged, which may be dropped here. */
  isTarget: () => boolean
  onDrop: () => void
  children: ReactNode
}

function Place({ isTarget, onDrop, children }: PlaceProps) {
  const [over, setOver] = useState(false)
  return (
    <div
      className={classes.place}
      data-over={over || undefined}
      onDragOver={(event) => {
        if (!isTarget()) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        if (isTarget()) onDrop()
      }}
    >
      {children}
    </div>
  )
}
