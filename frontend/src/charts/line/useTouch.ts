import { useEffect, useRef, type RefObject } from "react"
import { pinched, type Range } from "@/lib/charts/axes"

/** Fingers on the chart, as shares of its width from the left. */
type Fingers = ReadonlyMap<number, number>

/** Pixels within which a finger taps, however it trembles. */
const SLOP_PX = 6

/** One finger moves the visible range sideways, two look closer. Up and down is left to the page (`touch-action` in CSS), and so is a tap. */
export function useTouch(element: RefObject<HTMLElement | null>, visible: () => Range | null, onRange: (range: Range) => void): void {
  const latest = useRef({ visible, onRange })
  useEffect(() => {
    latest.current = { visible, onRange }
  })
  useEffect(() => {
    const target = element.current!
    const fingers = new Map<number, number>()
    let began: { fingers: Fingers; range: Range; moves: boolean } | null = null
    const over = () => target.querySelector(".u-over")!.getBoundingClientRect()
    const shareOf = ({ clientX }: PointerEvent) => (clientX - over().left) / over().width
    /** From here on what lies under the fingers stays under them. */
    const begin = () => {
      const range = latest.current.visible()
      began = range && fingers.size > 0 ? { fingers: new Map(fingers), range, moves: fingers.size > 1 } : null
    }
    const onDown = (event: PointerEvent) => {
      if (event.pointerType !== "touch") return
      if (event.isPrimary) fingers.clear() // should the end of one have been missed
      fingers.set(event.pointerId, shareOf(event))
      begin()
    }
    const onMove = (event: PointerEvent) => {
      if (!fingers.has(event.pointerId)) return
      fingers.set(event.pointerId, shareOf(event))
      if (!began) return
      began.moves ||= Math.abs(fingers.get(event.pointerId)! - began.fingers.get(event.pointerId)!) * over().width > SLOP_PX
      if (began.moves) latest.current.onRange(pinched(began.range, [...began.fingers.values()], [...fingers.values()]))
    }
    const onUp = (event: PointerEvent) => {
      if (fingers.delete(event.pointerId)) begin()
    }
    const heard = { pointerdown: onDown, pointermove: onMove, pointerup: onUp, pointercancel: onUp }
    for (const [type, listener] of Object.entries(heard)) target.addEventListener(type as keyof typeof heard, listener)
    return () => {
      for (const [type, listener] of Object.entries(heard)) target.removeEventListener(type as keyof typeof heard, listener)
    }
  }, [element])
}
