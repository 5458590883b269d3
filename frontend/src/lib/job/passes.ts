import type { JobExport } from "@/client"
import type { DataLine } from "@/lib/charts/chartData"

/** Figures of a closed pass that the table shows. */
export const PASS_FIGURES = ["auc", "log_loss", "calibration"] as const

export type PassFigure = (typeof PASS_FIGURES)[number]

/** A closed pass over the data: its number, figures, and the exports that were made at its end. */
export interface ClosedPass extends Record<PassFigure, number | null> {
  number: number
  exports: JobExport[]
}

export type LinesOfPasses = ReadonlyMap<PassFigure, readonly DataLine[]>

/** The newest passes first, at most so many. */
export function closedPasses(lines: LinesOfPasses, exports: readonly JobExport[], most: number): ClosedPass[] {
  const values = new Map(PASS_FIGURES.map((figure) => [figure, valuesByPass(lines.get(figure) ?? [])]))
  const numbers = [...new Set([...values.values()].flatMap((found) => [...found.keys()]))].sort((a, b) => b - a)
  return numbers.slice(0, most).map((number) => ({
    number,
    ...(Object.fromEntries(PASS_FIGURES.map((figure) => [figure, values.get(figure)!.get(number) ?? null])) as Record<PassFigure, number | null>),
    exports: exports.filter(({ passes }) => passes === number + 1),
  }))
}

function valuesByPass(lines: readonly DataLine[]): Map<number, number> {
  return new Map(lines.flatMap(({ columns }) => columns.x.map((x, place) => [x, columns.last[place]!] as const)))
}

/** The number of the newest pass; null: none has closed. */
export function newestPass(lines: readonly DataLine[]): number | null {
  const ends = lines.flatMap(({ columns }) => columns.x.slice(-1))
  return ends.length > 0 ? Math.max(...ends) : null
}

/** Examples that workers have still to train; null: the data does not grow. */
export function examplesBehind(lines: readonly DataLine[]): number | null {
  return lines.length > 0 ? lines.reduce((sum, { latest }) => sum + (latest ?? 0), 0) : null
}
