const KEY = "gradstream.tour"

/** Remembers that this browser has taken the tour, or wants none. */
export const tourSeen = {
  note: () => {
    try {
      localStorage.setItem(KEY, "seen")
    } catch {
      return // a browser may forbid storage: the page offers the tour again
    }
  },
  noted: (): boolean => {
    try {
      return localStorage.getItem(KEY) !== null
    } catch {
      return false
    }
  },
}
