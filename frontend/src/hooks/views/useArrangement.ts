import { createContext, useContext } from "react"

/** The place of one chart or panel in a grid, and ways to change it. */
export interface Arrangement {
  /** Pixels of its plot; undefined: its own. */
  height: number | undefined
  /** Null: it is the first, or the last. */
  moveEarlier: (() => void) | null
  moveLater: (() => void) | null
  hide: () => void
  /** It is being dragged to another place; null: no longer. */
  onDrag: (dragged: boolean) => void
}

export const ArrangementContext = createContext<Arrangement | null>(null)

/** Null: it stands outside of such a grid. */
export function useArrangement(): Arrangement | null {
  return useContext(ArrangementContext)
}
