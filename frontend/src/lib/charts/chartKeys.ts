import { panned, zoomed, type Range } from "./axes"

interface ChartKey {
  keys: string[]
  label: string
  /** From what is visible to what is to be; null: all. */
  move: (visible: Range) => Range | null
}

const PAN = 0.2
const ZOOM = 0.6

/** Heard by the chart that has the focus. All charts share the range that it moves. */
export const CHART_KEYS: readonly ChartKey[] = [
  { keys: ["ArrowLeft"], label: "Move to the left", move: (visible) => panned(visible, -PAN) },
  { keys: ["ArrowRight"], label: "Move to the right", move: (visible) => panned(visible, PAN) },
  { keys: ["+", "="], label: "Zoom in", move: (visible) => zoomed(visible, ZOOM) },
  { keys: ["-"], label: "Zoom out", move: (visible) => zoomed(visible, 1 / ZOOM) },
  { keys: ["0"], label: "Show all", move: () => null },
]

/** As `aria-keyshortcuts` wants them. */
export const CHART_SHORTCUTS = CHART_KEYS.flatMap(({ keys }) => keys).join(" ")

/** Visible range after a key; undefined: the key does nothing. Without a visible range there is nothing to move. */
export function movedByKey(key: string, visible: Range | null): Range | null | undefined {
  const found = CHART_KEYS.find(({ keys }) => keys.includes(key))
  return found && (visible ? found.move(visible) : null)
}
