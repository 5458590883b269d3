const KEY = "gradstream.signed-in"

/** Remembers that this browser has a session that was not ended here, so that its end differs from a first visit. */
export const signedIn = {
  note: () => save("yes"),
  forget: () => save(null),
  noted: (): boolean => {
    try {
      return localStorage.getItem(KEY) !== null
    } catch {
      return false
    }
  },
}

/** A browser may forbid storage. */
function save(value: string | null) {
  try {
    if (value) localStorage.setItem(KEY, value)
    else localStorage.removeItem(KEY)
  } catch {
    return
  }
}
