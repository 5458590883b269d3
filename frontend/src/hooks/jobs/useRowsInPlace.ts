import type { Virtualizer } from "@tanstack/react-virtual"
import { useEffect, useLayoutEffect, useRef } from "react"
import type { KeptPlace, Place } from "./useKeptPlace"

interface Options {
  virtual: Virtualizer<HTMLDivElement, Element>
  /** Ids of all rows, in their order. */
  ids: readonly string[]
  active: string | null
  kept: KeptPlace
}

/** Rows that come or go above the view move nothing in it; where the view is when it goes, is kept. At its top it stays at the top. */
export function useRowsInPlace({ virtual, ids, active, kept }: Options): { onScroll: () => void } {
  const top = useRef<Place["top"]>(kept.place?.top ?? null)
  const { keep } = kept
  const leave = () => keep({ offset: virtual.scrollOffset ?? 0, top: top.current, active, measured: virtual.measurementsCache })
  const latest = useRef(leave)
  useEffect(() => {
    latest.current = leave
  })
  useEffect(() => () => latest.current(), [])
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
