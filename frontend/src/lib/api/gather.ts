/** More in one request would let the first chart wait for the last. */
const MAX_BATCH = 8

interface Asked<Found> {
  name: string
  resolve: (found: Found) => void
  reject: (error: unknown) => void
}

/** Makes one request of what is asked for within a moment with the same arguments. `load` answers in the order of the names. `most`: names
 * in one request. */
export function gather<Args, Found>(load: (names: string[], args: Args) => Promise<readonly Found[]>, momentMs = 10, most = MAX_BATCH) {
  const waiting = new Map<string, Asked<Found>[]>()

  const send = async (asked: readonly Asked<Found>[], args: Args) => {
    const names = [...new Set(asked.map(({ name }) => name))]
    try {
      const found = await load(names, args)
      for (const { name, resolve } of asked) resolve(found[names.indexOf(name)]!)
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }

  return (name: string, args: Args): Promise<Found> =>
    new Promise((resolve, reject) => {
      const key = JSON.stringify(args)
      const asked = waiting.get(key) ?? []
      asked.push({ name, resolve, reject })
      waiting.set(key, asked)
      if (asked.length > 1) return
      setTimeout(() => {
        waiting.delete(key)
        for (let start = 0; start < asked.length; start += most) void send(asked.slice(start, start + most), args)
      }, momentMs)
    })
}
