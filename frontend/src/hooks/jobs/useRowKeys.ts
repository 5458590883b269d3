import { useState, type KeyboardEvent } from "react"
import { useKeys } from "@/hooks/useKeys"

export interface RowKeys {
  /** Place of the row that keys act on, and its id: it stays the same row when others come or go above it. */
  active: number | null
  activeId: string | null
  onKeyDown: (event: KeyboardEvent) => void
}

interface Options {
  /** Ids of all rows, in their order. */
  ids: readonly string[]
  /** The row that was active when one left. */
  before: string | null
  open: (index: number) => void
  select: (index: number, range: boolean) => void
  clear: () => void
}

/** Rows that fit on a screen, about. */
const PAGE = 15

/** Moving over rows, selecting and opening them: by letters wherever the focus is, by arrows on the rows themselves. */
export function useRowKeys({ ids, before, open, select, clear }: Options): RowKeys {
  const [place, setPlace] = useState({ id: before, index: 0 })
  const count = ids.length
  const active = placeOf(place, ids)
  const go = (to: number) => {
    const index = Math.max(0, Math.min(count - 1, to))
    setPlace({ id: ids[index] ?? null, index })
  }
  const move = (by: number) => go(active === null ? (by > 0 ? by - 1 : count + by) : active + by)
  const at = (act: (index: number) => void) => active !== null && act(active)
  useKeys("Jobs", [
    { keys: ["j"], label: "Next job (also ↓)", run: () => move(1) },
    { keys: ["k"], label: "Previous job (also ↑)", run: () => move(-1) },
    { keys: [" ", "x"], label: "Select the job", run: () => at((index) => select(index, false)) },
    { keys: ["X"], label: "Select all jobs from the last selected one", run: () => at((index) => select(index, true)) },
    { keys: ["Enter", "o"], label: "Open the job", run: () => at(open) },
    { keys: ["Escape"], label: "Clear the selection", run: clear },
  ])
  const steps: Record<string, () => void> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    PageDown: () => move(PAGE),
    PageUp: () => move(-PAGE),
    Home: () => go(0),
    End: () => go(count - 1),
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.target === event.currentTarget ? steps[event.key] : undefined
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    step()
  }
  return { active, activeId: active === null ? null : ids[active]!, onKeyDown }
}

/** A row that has gone leaves its place to the one behind it. */
function placeOf({ id, index }: { id: string | null; index: number }, ids: readonly string[]): number | null {
  if (id === null || ids.length === 0) return null
  const now = ids[index] === id ? index : ids.indexOf(id)
  return now >= 0 ? now : Math.min(index, ids.length - 1)
}
