import { useEffect, useRef, type RefObject } from "react"
import type uPlot from "uplot"
import { LivePlot } from "@/charts/drawing/livePlot"
import type { Picture } from "@/charts/drawing/picture"
import { plotOptions, type PlotOptions } from "@/charts/drawing/plot"
import { drawNever, drawSoon } from "@/lib/browser/frames"

/** After so long without a change it is drawn all at once. */
const REST_MS = 1500

interface UsePlot extends Pick<PlotOptions, "syncKey" | "onCursor" | "onSelect" | "onReset"> {
  /** The picture that is to be seen now. Read when something is drawn, so that live points need no render. */
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
  const { view, scale, scheme, title, quantity } = picture()

  useEffect(() => {
    latest.current = { picture, ...on }
  })

  useEffect(() => {
    const container = element.current!
    const options = (canvas: Pick<PlotOptions, "window" | "draw">) =>
      plotOptions({
        view, scale, title, quantity, syncKey, ...canvas,
        onCursor: (cursor, plot) => latest.current.onCursor(cursor, plot),
        onSelect: (from, to) => latest.current.onSelect(from, to),
        onReset: () => latest.current.onReset(),
      })
    const live = new LivePlot(container, height, () => latest.current.picture(), options)
    plot.current = live.plot
    redraw.current = live.draw
    let resting: number | undefined
    const rest = () => {
      if (!live.rests) drawSoon(live.draw)
    }
    const unsubscribe = subscribe(() => {
      drawSoon(live.drawOn)
      window.clearTimeout(resting)
      resting = window.setTimeout(rest, REST_MS)
    })
    const observer = new ResizeObserver(live.fit)
    observer.observe(container)
    return () => {
      unsubscribe()
      window.clearTimeout(resting)
      observer.disconnect()
      drawNever(live.drawOn)
      drawNever(live.draw)
      live.plot.destroy()
      plot.current = null
      redraw.current = () => undefined
    }
  }, [view, scale, scheme, title, quantity, syncKey, height, subscribe])

  useEffect(() => redraw.current(), [picture])

  return [element, plot]
}
