/**
 * A browser opens at most six connections to one server, whatever the number of its tabs, unless a proxy brings HTTP/2. Streams that
 * held all of them would leave none to ask or to load anything with. So there are few that stay open, for tabs in sight.
 */
const MOST = 4

export type Release = () => void

/** The right to keep a stream open, until it is released or the tab is gone; null: not now. A page that did not come over a safe way cannot ask others. */
export async function hold(): Promise<Release | null> {
  if (document.visibilityState === "hidden") return null
  const { locks } = navigator as { locks?: LockManager | null }
  if (!locks) return () => undefined
  for (let place = 0; place < MOST; place++) {
    const release = await lock(locks, `gradstream.stream.${place}`)
    if (release) return release
  }
  return null
}

function lock(locks: LockManager, name: string): Promise<Release | null> {
  return new Promise((resolve) => {
    const held = locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock) return new Promise<void>((release) => resolve(release))
      resolve(null)
    })
    held.catch(() => resolve(() => undefined)) // this browser does not let it ask
  })
}
