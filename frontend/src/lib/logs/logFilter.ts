import type { Level, LogLine } from "./logBook"

export interface LogFilter {
  role: string | null
  rank: number | null
  /** The least level; lines that tell none are left out then. */
  level: Level | null
  text: string
  regex: boolean
}

const ORDER: readonly Level[] = ["debug", "info", "warning", "error"]
export const LEVELS = ORDER

export function isFiltered({ role, rank, level, text }: LogFilter): boolean {
  return role !== null || rank !== null || level !== null || text !== ""
}

/** The test that a shown line passes, or the mistake in the pattern. Case does not matter. */
export function matcher({ role, rank, level, text, regex }: LogFilter): { fits: (line: LogLine) => boolean; error: string | null } {
  const label = labelOf(role, rank)
  const least = level === null ? 0 : ORDER.indexOf(level)
  const { finds, error } = finder(text, regex)
  const fits = (line: LogLine) =>
    label(line.label) && (level === null || (line.level !== null && ORDER.indexOf(line.level) >= least)) && finds(line.text)
  return { fits, error }
}

function labelOf(role: string | null, rank: number | null): (label: string) => boolean {
  return (label) => {
    const [of, number] = label.split("-")
    return (role === null || of === role) && (rank === null || Number(number ?? -1) === rank)
  }
}

function finder(text: string, regex: boolean): { finds: (line: string) => boolean; error: string | null } {
  if (text === "") return { finds: () => true, error: null }
  if (!regex) {
    const wanted = text.toLowerCase()
    return { finds: (line) => line.toLowerCase().includes(wanted), error: null }
  }
  try {
    const pattern = new RegExp(text, "i")
    return { finds: (line) => pattern.test(line), error: null }
  } catch (error) {
    return { finds: () => true, error: (error as Error).message }
  }
}
