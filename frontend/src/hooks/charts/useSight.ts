import { useEffect, useRef, useState, type RefObject } from "react"

interface Sight {
  /** Pixels, in steps, so that charts of nearly the same width ask one question; null while out of sight. */
  width: number | null
  /** Height of the element when it was last in sight: kept free, so that nothing jumps. */
  height: number | undefined
}

/** Charts a bit below the window are made ready. */
const MARGIN = "150px"
const WIDTH_STEP = 100
const NARROWEST = 200
const WIDEST = 2000

const watched = new WeakMap<Element, (seen: boolean) => void>()
let observer: IntersectionObserver | undefined

/** Visibility and width of an element. One observer serves all of a page. */
export function useSight<E extends HTMLElement>(): [RefObject<E | null>, Sight] {
  const element = useRef<E>(null)
  const [sight, setSight] = useState<Sight>({ width: null, height: undefined })
  useEffect(() => {
    const target = element.current!
    observer ??= new IntersectionObserver(
      (entries) => entries.forEach(({ target: met, isIntersecting }) => watched.get(met)?.(isIntersecting)),
      { rootMargin: MARGIN },
    )
    const look = (seen: boolean) =>
      setSight((before) => ({ width: seen ? stepped(target.clientWidth) : null, height: seen ? undefined : before.width === null ? before.height : target.offsetHeight }))
    const resized = new ResizeObserver(() =>
      setSight((before) => (before.width === null || before.width === stepped(target.clientWidth) ? before : { ...before, width: stepped(target.clientWidth) })),
    )
    watched.set(target, look)
    observer.observe(target)
    resized.observe(target)
    return () => {
      observer!.unobserve(target)
      watched.delete(target)
      resized.disconnect()
    }
  }, [])
  return [element, sight]
}

function stepped(width: number): number {
  return Math.min(WIDEST, Math.max(NARROWEST, Math.ceil(width / WIDTH_STEP) * WIDTH_STEP))
}
