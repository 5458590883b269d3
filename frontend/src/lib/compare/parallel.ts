/** Axes of parallel coordinates: where each value lies on them, from 0 (bottom) to 1 (top). */

/** A drag over less of an axis than this is a click. */
const CLICK = 0.01

export interface ParallelAxis {
  key: string
  label: string
  /** Where each job lies, in their order; null: it has no value here. */
  places: readonly (number | null)[]
  /** The values themselves, in words. */
  texts: readonly string[]
  ticks: readonly { at: number; text: string }[]
  /** Least and greatest number; null: words, or nothing. */
  extent: readonly [number, number] | null
}

/** The range that a drag between two places selects: an end at or beyond that of the axis is no bound. Null: a click, or nothing to select. */
export function draggedRange({ extent }: ParallelAxis, from: number, to: number): { low: number | null; high: number | null } | null {
  const [bottom, top] = [Math.min(from, to), Math.max(from, to)]
  if (!extent || extent[0] === extent[1] || top - bottom < CLICK || bottom >= 1 || top <= 0) return null
  const value = (place: number) => Number((extent[0] + (extent[1] - extent[0]) * place).toPrecision(4))
  return { low: bottom <= 0 ? null : value(bottom), high: top >= 1 ? null : value(top) }
}

/** The places between which a range lies on the axis. */
export function rangePlaces({ extent }: ParallelAxis, { low, high }: { low: number | null; high: number | null }): [number, number] {
  const place = (value: number) => (!extent || extent[0] === extent[1] ? 0.5 : Math.min(1, Math.max(0, (value - extent[0]) / (extent[1] - extent[0]))))
  return [low === null ? 0 : place(low), high === null ? 1 : place(high)]
}

/** A line from the least to the greatest; a single value lies in the middle. */
export function numericAxis(key: string, label: string, values: readonly (number | null)[], format: (value: number) => string): ParallelAxis {
  const finite = values.filter((value) => value !== null && Number.isFinite(value)) as number[]
  const [low, high] = [Math.min(...finite), Math.max(...finite)]
  const place = (value: number) => (low === high ? 0.5 : (value - low) / (high - low))
  const marks = low === high ? [0.5] : [0, 0.5, 1]
  return {
    key,
    label,
    places: values.map((value) => (value !== null && Number.isFinite(value) ? place(value) : null)),
    texts: values.map((value) => (value === null ? "–" : format(value))),
    ticks: finite.length === 0 ? [] : marks.map((at) => ({ at, text: format(low === high ? low : low + (high - low) * at) })),
    extent: finite.length === 0 ? null : [low, high],
  }
}

/** A place for each word, in alphabetical order from the top; evenly spaced. */
export function wordAxis(key: string, label: string, words: readonly string[]): ParallelAxis {
  const kinds = [...new Set(words)].sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
  const place = (word: string) => (kinds.length === 1 ? 0.5 : kinds.indexOf(word) / (kinds.length - 1))
  return { key, label, places: words.map(place), texts: words, ticks: kinds.map((word) => ({ at: place(word), text: word })), extent: null }
}
