/** Axes of parallel coordinates: where each value lies on them, from 0 (bottom) to 1 (top). */

export interface ParallelAxis {
  key: string
  label: string
  /** Where each job lies, in their order; null: it has no value here. */
  places: readonly (number | null)[]
  /** The values themselves, in words. */
  texts: readonly string[]
  ticks: readonly { at: number; text: string }[]
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
  }
}

/** A place for each word, in alphabetical order from the top; evenly spaced. */
export function wordAxis(key: string, label: string, words: readonly string[]): ParallelAxis {
  const kinds = [...new Set(words)].sort((a, b) => b.localeCompare(a, "en", { numeric: true }))
  const place = (word: string) => (kinds.length === 1 ? 0.5 : kinds.indexOf(word) / (kinds.length - 1))
  return { key, label, places: words.map(place), texts: words, ticks: kinds.map((word) => ({ at: place(word), text: word })) }
}
