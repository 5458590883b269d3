/** A view of the list of jobs that somebody has named; `search` is its part of the address. */
export interface SavedFilter {
  name: string
  search: string
}

/** Filters that the browser has kept; anything else there is left out. */
export function readSaved(kept: string | null): SavedFilter[] {
  try {
    const found: unknown = JSON.parse(kept ?? "[]")
    return Array.isArray(found) ? found.filter(isSaved) : []
  } catch {
    return []
  }
}

function isSaved(value: unknown): value is SavedFilter {
  const { name, search } = (value ?? {}) as Partial<SavedFilter>
  return typeof name === "string" && typeof search === "string"
}

/** Names are told apart; the same name again replaces what it stood for. */
export function withSaved(saved: readonly SavedFilter[], one: SavedFilter): SavedFilter[] {
  return [...saved.filter(({ name }) => name !== one.name), one].sort((a, b) => a.name.localeCompare(b.name))
}
