import { placedAt } from "./chartLayout"

/** The panels of Compare as they stand in its address: which there are, in which order, and what some of them show. */

/** Kinds of which there is one panel at most. */
export type SinglePanel = "curves" | "target" | "scatter" | "parallel" | "importance" | "diff"
/** Kinds of which there may be several, each with a number and settings of its own. */
export type NumberedPanel = "curve" | "plot"

export interface ComparePanel {
  /** A single kind, or a kind and a number: "curve.2". */
  id: string
  kind: SinglePanel | NumberedPanel
  /** The metric of a curve; the fields on both axes of a plot, and the axes that are logarithmic. */
  of: readonly string[]
}

/** Names of panels in the menu that adds them; of most, also their titles. */
export const PANEL_TITLES: Record<ComparePanel["kind"], string> = {
  curves: "Compared metric",
  target: "Time to a target",
  scatter: "Scatter plot",
  parallel: "Settings against results",
  importance: "Importance of settings",
  diff: "Job files",
  curve: "Curves of another metric",
  plot: "Another scatter plot",
}

const SINGLE: readonly SinglePanel[] = ["curves", "target", "scatter", "parallel", "importance", "diff"]
/** Parts that each kind needs. */
const PARTS: Record<NumberedPanel, number> = { curve: 1, plot: 3 }
/** More than this make an address too long to be shared. */
export const MOST_PANELS = 24

/** An address that names no panel has these, in this order. */
export const USUAL_PANELS: readonly ComparePanel[] = SINGLE.map((kind) => ({ id: kind, kind, of: [] }))

const ONE = /^(curve|plot)\.([1-9]\d?):(.*)$/

/** From "curves,curve.1:train/loss,plot.1:strategy.lr~best~x". Null: the usual ones. Parts that cannot be read are left out. */
export function readPanels(text: string | null): readonly ComparePanel[] {
  if (text === null) return USUAL_PANELS
  const found = new Map<string, ComparePanel>()
  for (const part of text.split(",")) {
    const panel = USUAL_PANELS.find(({ id }) => id === part) ?? numbered(part)
    if (panel && !found.has(panel.id) && found.size < MOST_PANELS) found.set(panel.id, panel)
  }
  return [...found.values()]
}

function numbered(text: string): ComparePanel | null {
  const [, kind, number, rest] = ONE.exec(text) ?? []
  if (kind === undefined) return null
  const of = rest!.split("~").map((part) => part.replaceAll("%2C", ",").replaceAll("%7E", "~"))
  const isWhole = of.length === PARTS[kind as NumberedPanel] && of.slice(0, 2).every(Boolean)
  return isWhole ? { id: `${kind}.${number!}`, kind: kind as NumberedPanel, of } : null
}

/** Empty: the usual ones. "none": there is no panel. */
export function writePanels(panels: readonly ComparePanel[]): string {
  const text = panels.map(({ id, of }) => (of.length > 0 ? `${id}:${of.map(escaped).join("~")}` : id)).join(",")
  if (text === SINGLE.join(",")) return ""
  return text || "none"
}

function escaped(part: string): string {
  return part.replaceAll(",", "%2C").replaceAll("~", "%7E")
}

/** With one more panel at the end. A numbered kind gets the least number that is free. */
export function withPanel(panels: readonly ComparePanel[], kind: ComparePanel["kind"], of: readonly string[] = []): ComparePanel[] {
  if (panels.length >= MOST_PANELS) return [...panels]
  let id: string = kind
  for (let number = 1; kind in PARTS && (id === kind || panels.some((panel) => panel.id === id)); number++) id = `${kind}.${number}`
  return panels.some((panel) => panel.id === id) ? [...panels] : [...panels, { id, kind, of }]
}

export function withoutPanel(panels: readonly ComparePanel[], id: string): ComparePanel[] {
  return panels.filter((panel) => panel.id !== id)
}

/** A numbered panel with other settings. */
export function withSettings(panels: readonly ComparePanel[], id: string, of: readonly string[]): ComparePanel[] {
  return panels.map((panel) => (panel.id === id ? { ...panel, of } : panel))
}

/** One panel at the place of another. */
export function movedPanel(panels: readonly ComparePanel[], id: string, to: string): ComparePanel[] {
  const known = new Map(panels.map((panel) => [panel.id, panel]))
  return known.has(id) && known.has(to) ? placedAt([...known.keys()], id, to).map((each) => known.get(each)!) : [...panels]
}

/** Kinds that can be added: of the single ones, those that are not there. */
export function panelsToAdd(panels: readonly ComparePanel[]): ComparePanel["kind"][] {
  if (panels.length >= MOST_PANELS) return []
  return [...SINGLE.filter((kind) => panels.every((panel) => panel.kind !== kind)), "curve", "plot"]
}
