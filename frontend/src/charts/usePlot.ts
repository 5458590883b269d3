import { useEffect, useRef, type RefObject } from "react"
import uPlot from "uplot"
import { drawNever, drawSoon } from "@/lib/frames"
import { drawPicture, windowOf, type Picture } from "./picture"
import { plotOptions, type PlotOptions } from "./plot"

interface UsePlot extends Pick<PlotOptions, "syncKey" | "onCursor" | "onSelect" | "onReset"> {
  /** What is to be seen now. Read when something is drawn, so that live points need no render. */
  picture: () => Picture
  /** Calls the listener whenever the picture has changed. */
  subscribe: (listener: () => void) => () => void
  height: number
}

/** Keeps a uPlot in an element: as wide as it, made anew when axes change, drawn in one of the frames that follow a change. Returns the element and the plot. */
export function usePlot({ picture, subscribe, height, syncKey, ...on }: UsePlot): [RefObject<HTMLDivElement | null>, RefObject<uPlot | null>] {
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef({ picture, ...on })
  const redraw = useRef<() => void>(() => undefined)
  const { view, scale, scheme } = picture()

  useEffect(() => {
    latest.current = { picture, ...on }
  })

  useEffect(() => {
    const container = element.current!
    let seen = latest.current.picture()
    let window = windowOf(seen)
    const made = new uPlot(
      {
        ...plotOptions({
          view, scale, syncKey,
          window: () => window,
          draw: (drawn) => drawPicture(drawn, seen),
          onCursor: (x) => latest.current.onCursor(x),
          onSelect: (from, to) => latest.current.onSelect(from, to),
          onReset: () => latest.current.onReset(),
        }),
        width: container.clientWidth, height,
      },
      framed(window),
      container,
    )
    plot.current = made
    redraw.current = () => {
      seen = latest.current.picture()
      window = windowOf(seen)
      made.setData(framed(window))
    }
    const draw = redraw.current
    const unsubscribe = subscribe(() => drawSoon(draw))
    const observer = new ResizeObserver(() => {
      if (container.clientWidth > 0 && container.clientWidth !== made.width) made.setSize({ width: container.clientWidth, height })
    })
    observer.observe(container)
    return () => {
      unsubscribe()
      drawNever(draw)
      observer.disconnect()
      made.destroy()
      plot.current = null
      redraw.current = () => undefined
    }
  }, [view, scale, scheme, syncKey, height, subscribe])

  useEffect(() => redraw.current(), [picture])

  return [element, plot]
}

/** uPlot wants data to have axes: the corners of what is to be seen. */
function framed({ x, y }: { x: [number, number]; y: [number, number] }): uPlot.AlignedData {
  return [x, y]
}
