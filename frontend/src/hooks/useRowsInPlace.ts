import type { Virtualizer } from "@tanstack/react-virtual"
import { useEffect, useLayoutEffect, useRef } from "react"
import type { KeptPlace, Place } from "./useKeptPlace"

/** Rows that come or go above the view move nothing in it; where the view is when it goes, is kept. At its top it stays at the top. */
export function useRowsInPlace(virtual: Virtualizer<HTMLDivElement, Element>, ids: readonly string[], kept: KeptPlace): { onScroll: () => void } {
  const top = useRef<Place["top"]>(kept.place?.top ?? null)
  const { keep } = kept
  const latest = useRef(keep)
  useEffect(() => {
    latest.current = keep
  })
  useEffect(() => () => latest.current({ offset: virtual.scrollOffset ?? 0, top: top.current, measured: virtual.measurementsCache }), [virtual])
  useLayoutEffect(() => {
    const before = top.current
    if (before === null || ids[before.index] === before.id) return
    const index = ids.indexOf(before.id)
    const row = virtual.measurementsCache[index]
    if (!row) return
    top.current = { ...before, index }
    virtual.scrollToOffset(row.start - before.within)
  }, [virtual, ids])
  return {
    onScroll: () => {
      const offset = virtual.scrollElement?.scrollTop ?? 0
      const row = offset > 0 ? virtual.getVirtualItemForOffset(offset) : undefined
      const id = row && ids[row.index]
      top.current = row && id !== undefined ? { id, index: row.index, within: row.start - offset } : null
    },
  }
}
