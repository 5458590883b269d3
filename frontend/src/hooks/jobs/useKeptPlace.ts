import type { VirtualItem } from "@tanstack/react-virtual"
import { useCallback } from "react"
import { useLocation } from "react-router"

/** Where somebody was in a list of many rows. */
export interface Place {
  /** Pixels from the top. */
  offset: number
  /** The topmost row in sight, and how far its upper edge is above that of the view. */
  top: { id: string; index: number; within: number } | null
  /** The row that keys acted on. */
  active: string | null
  /** How high the rows were. */
  measured: VirtualItem[]
}

const places = new Map<string, Place>()
const MAX_PLACES = 50

export interface KeptPlace {
  /** Null: this entry of the browser's history was not left before. */
  readonly place: Place | null
  keep: (place: Place) => void
  forget: () => void
}

/** The place in a list, by the entry of the browser's history: Back and Forward come to where one was, a link to the beginning. */
export function useKeptPlace(): KeptPlace {
  const { key } = useLocation()
  const keep = useCallback((place: Place) => {
    places.delete(key)
    places.set(key, place)
    const [oldest] = places.keys()
    if (places.size > MAX_PLACES && oldest !== undefined) places.delete(oldest)
  }, [key])
  const forget = useCallback(() => void places.delete(key), [key])
  return { place: places.get(key) ?? null, keep, forget }
}
