import { useEffect, useRef, type RefObject } from "react"
import uPlot from "uplot"
import { drawPicture, windowOf, type Picture } from "./picture"
import { plotOptions, type PlotOptions } from "./plot"

interface UsePlot extends Pick<PlotOptions, "syncKey" | "onCursor" | "onSelect" | "onReset"> {
  /** What is to be seen now. Read when something is drawn, so that live points need no render. */
  picture: () => Picture
  /** Calls the listener whenever the picture has changed. */
  subscribe: (listener: () => void) => () => void
  height: number
}

/** Keeps a uPlot in an element: as wide as it, made anew when axes change, drawn once a frame at most. Returns the element and the plot. */
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
    const now = () => latest.current.picture()
    let window = windowOf(now())
    const made = new uPlot(
      {
        ...plotOptions({
          view, scale, syncKey,
          window: () => window,
          draw: (drawn) => drawPicture(drawn, now()),
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
      window = windowOf(now())
      made.setData(framed(window))
    }
    const stop = everyFrame(subscribe, redraw.current)
    const observer = new ResizeObserver(() => {
      if (container.clientWidth > 0 && container.clientWidth !== made.width) made.setSize({ width: container.clientWidth, height })
    })
    observer.observe(container)
    return () => {
      stop()
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

/** Calls `draw` in the next frame after a change, once for all that came before it. */
function everyFrame(subscribe: UsePlot["subscribe"], draw: () => void): () => void {
  let frame = 0
  const unsubscribe = subscribe(() => {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      draw()
    })
  })
  return () => {
    cancelAnimationFrame(frame)
    unsubscribe()
  }
}
