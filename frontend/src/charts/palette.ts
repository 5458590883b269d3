/**
 * Twelve colours, any two at least 23 apart in CIEDE2000, with a contrast of 3:1 to the card. The first four are Okabe and Ito's, which
 * colour-blind readers can tell apart. Dashes tell lines apart without any colour.
 */
export const LIGHT = ["#0072b2", "#d55e00", "#00805c", "#b8478f", "#9c9000", "#3c24c0", "#84180c", "#9c9090", "#9c78fc", "#fc1848", "#54480c", "#484854"]
export const DARK = ["#56b4e9", "#ff8c42", "#2fc99a", "#e69bc8", "#ccf000", "#7860f0", "#fc1848", "#e4d8cc", "#9c7818", "#248484", "#847878", "#549000"]
/** The line that is about all workers has the colour of the platform. */
const OF_ALL = { light: "#0b7285", dark: "#66c2d2" }
/** Greys of what is no work, apart in lightness, which colour-blind readers see as all others do. They stand out from the card, too. */
export const GREYS = { light: { pale: "#949494", strong: "#505050" }, dark: { pale: "#6e6e6e", strong: "#b0b0b0" } }
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]]

export type Scheme = "light" | "dark"

export function seriesColor(index: number, scheme: Scheme): string {
  const colors = scheme === "dark" ? DARK : LIGHT
  return index < 0 ? OF_ALL[scheme] : colors[index % colors.length]!
}

/** Two greys, and two patterns for what is before the work and after it. */
export type QuietLook = "pale" | "strong" | "striped" | "hatched"

/** The background of an area that is no work. */
export function quietLook(look: QuietLook, scheme: Scheme): string {
  const { pale, strong } = GREYS[scheme]
  if (look === "striped") return `repeating-linear-gradient(90deg, ${pale} 0 2px, transparent 2px 5px)`
  if (look === "hatched") return "repeating-linear-gradient(135deg, var(--gs-line) 0 2px, transparent 2px 7px)"
  return look === "pale" ? pale : strong
}

/** With the colour it tells 48 lines apart. */
export function seriesDash(index: number): number[] {
  return index < 0 ? [] : DASHES[(index + Math.floor(index / LIGHT.length)) % DASHES.length]!
}
