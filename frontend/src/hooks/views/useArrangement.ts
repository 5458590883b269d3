import { createContext, useContext } from "react"

/** The place of one chart in a grid, and ways to change it. */
export interface Arrangement {
  height: number
  /** Null: the chart is the first, or the last. */
  moveEarlier: (() => void) | null
  moveLater: (() => void) | null
  hide: () => void
  /** The chart is being dragged to another place; null: no longer. */
  onDrag: (dragged: boolean) => void
}

export const ArrangementContext = createContext<Arrangement | null>(null)

/** Null: the chart stands outside a grid whose layout is kept. */
export function useArrangement(): Arrangement | null {
  return useContext(ArrangementContext)
}
