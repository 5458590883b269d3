import { useEffect, useRef, type RefObject } from "react"
import { panned, zoomed, type Range } from "@/lib/charts/axes"

const WHEEL_ZOOM = 1.0015

/** Shift-drag and shift-wheel move the visible range; the wheel with ctrl (or a pinch) looks closer where the pointer is. */
export function usePan(element: RefObject<HTMLElement | null>, visible: () => Range | null, onRange: (range: Range) => void): void {
  const latest = useRef({ visible, onRange })
  useEffect(() => {
    latest.current = { visible, onRange }
  })
  useEffect(() => {
    const target = element.current!
    const over = () => target.querySelector(".u-over")!.getBoundingClientRect()
    const onWheel = (event: WheelEvent) => {
      const range = latest.current.visible()
      if (!range || !(event.shiftKey || event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      const { left, width } = over()
      const turned = event.deltaY || event.deltaX
      latest.current.onRange(event.shiftKey ? panned(range, turned / width) : zoomed(range, WHEEL_ZOOM ** turned, (event.clientX - left) / width))
    }
    const onDown = (event: MouseEvent) => {
      const range = latest.current.visible()
      if (!event.shiftKey || event.button !== 0 || !range) return
      event.preventDefault()
      event.stopPropagation() // else uPlot would begin a selection
      const { width } = over()
      const move = (moved: MouseEvent) => latest.current.onRange(panned(range, (event.clientX - moved.clientX) / width))
      document.addEventListener("mousemove", move)
      document.addEventListener("mouseup", () => document.removeEventListener("mousemove", move), { once: true })
    }
    target.addEventListener("wheel", onWheel, { passive: false })
    target.addEventListener("mousedown", onDown, true)
    return () => {
      target.removeEventListener("wheel", onWheel)
      target.removeEventListener("mousedown", onDown, true)
    }
  }, [element])
}
