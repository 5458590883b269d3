/**
 * Okabe and Ito's colours, which colour-blind readers can tell apart, made dark (or light) enough for 3:1 on the card.
 * Dashes tell lines apart without any colour.
 */
const LIGHT = ["#0072b2", "#d55e00", "#00805c", "#b8478f", "#8f6400", "#2583b8", "#6d4bb5", "#4d5963"]
const DARK = ["#56b4e9", "#ff8c42", "#2fc99a", "#e69bc8", "#eac043", "#8fd0f5", "#b79cf2", "#b4c0ca"]
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]]

export type Scheme = "light" | "dark"

export function seriesColor(index: number, scheme: Scheme): string {
  const colors = scheme === "dark" ? DARK : LIGHT
  return colors[index % colors.length]!
}

/** With the colour it tells 32 lines apart. */
export function seriesDash(index: number): number[] {
  return DASHES[(index + Math.floor(index / LIGHT.length)) % DASHES.length]!
}
