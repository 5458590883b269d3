import { useLocalStorage } from "@mantine/hooks"
import { readSaved, withSaved, type SavedFilter } from "@/lib/jobs/savedFilters"

interface Saved {
  saved: SavedFilter[]
  save: (one: SavedFilter) => void
  forget: (name: string) => void
}

/** Views of the list that were named in this browser. */
export function useSavedFilters(): Saved {
  const [saved, set] = useLocalStorage<SavedFilter[]>({
    key: "gradstream.job-filters", defaultValue: [], getInitialValueInEffect: false, deserialize: (text) => readSaved(text ?? null),
  })
  return { saved, save: (one) => set((now) => withSaved(now, one)), forget: (name) => set((now) => now.filter((each) => each.name !== name)) }
}
