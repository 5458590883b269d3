import { useEffect, useRef } from "react"
import uPlot from "uplot"
import type { Columns } from "@/lib/align"

/** Keeps a uPlot in an element: as wide as it, drawn anew when the options change, fed when only the data do. A zoom survives new data. */
export function usePlot(options: Omit<uPlot.Options, "width" | "height">, data: Columns, height: number) {
  const element = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef(data)

  useEffect(() => {
    latest.current = data
    if (plot.current) feed(plot.current, data)
  }, [data])

  useEffect(() => {
    const container = element.current!
    const made = new uPlot({ ...options, width: container.clientWidth, height }, latest.current, container)
    plot.current = made
    const observer = new ResizeObserver(() => {
      if (container.clientWidth !== made.width) made.setSize({ width: container.clientWidth, height })
    })
    observer.observe(container)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [options, height])

  return element
}

function feed(plot: uPlot, data: Columns): void {
  if (data.length !== plot.series.length) return // the options for these lines follow
  const { min, max } = plot.scales.x!
  const before = plot.data[0]
  const zoomed = before.length > 0 && min != null && max != null && (min > before[0]! || max < before[before.length - 1]!)
  plot.batch(() => {
    plot.setData(data, !zoomed)
    if (zoomed) plot.setScale("x", { min, max })
  })
}
