import type { ChartLayout, SavedView } from "@/client"

export type Layout = Required<ChartLayout>

export const USUAL_LAYOUT: Layout = { columns: null, height: 170, order: [], hidden: [] }
export const LEAST_HEIGHT = 100
export const MOST_HEIGHT = 800
/** Metrics that the server keeps of a list. */
const MOST_CHARTS = 500
/** Name of the layout that the tab opens with. */
export const OWN_LAYOUT = "default"

/** The caller's own layout among the views of the tab. */
export function ownLayout(views: readonly SavedView[] | undefined): SavedView | undefined {
  return views?.find(({ mine, name }) => mine && name === OWN_LAYOUT)
}

/** The layout of a view; what it lacks is as usual. */
export function layoutOf(view: SavedView | undefined): Layout {
  return view && !("query" in view.state) ? { ...USUAL_LAYOUT, ...view.state } : USUAL_LAYOUT
}

/** The metrics of a group in the order of their charts. Metrics that the layout does not name follow in their usual order. */
export function arranged(names: readonly string[], { order }: Pick<Layout, "order">): string[] {
  const placed = order.filter((name) => names.includes(name))
  return [...placed, ...names.filter((name) => !placed.includes(name))]
}

/** The names with one of them at the place of another. */
export function placedAt<Name extends string>(names: readonly Name[], name: Name, to: Name): Name[] {
  const others = names.filter((each) => each !== name)
  const place = names.indexOf(to)
  return [...others.slice(0, place), name, ...others.slice(place)]
}

/** The layout with one chart of a group at the place of another. `names` are all of the group, as they are arranged. */
export function moved(layout: Layout, names: readonly string[], name: string, to: string): Pick<Layout, "order"> {
  const group = placedAt(names, name, to)
  return { order: [...layout.order.filter((each) => !names.includes(each)), ...group].slice(-MOST_CHARTS) }
}

export function withHidden(layout: Layout, name: string): Pick<Layout, "hidden"> {
  return { hidden: [...layout.hidden.filter((each) => each !== name), name].slice(-MOST_CHARTS) }
}

export function heightOf(pixels: number): number {
  return Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, Math.round(pixels / 10) * 10))
}
