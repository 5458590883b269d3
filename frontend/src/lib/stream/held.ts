/**
 * A browser opens at most six connections to one server, whatever the number of its tabs, unless a proxy brings HTTP/2. Streams that
 * held all of them would leave none to ask or to load anything with. So there are few that stay open, for tabs in sight, and one
 * more that the others have by turns: at least one connection is left.
 */
const MAX_STREAMS = 4
const TURN = "gradstream.stream.turn"

type Release = () => void

export interface Right {
  release: Release
  /** It may be kept; else it is a turn of a moment. */
  stays: boolean
}

/**
 * The right to open a stream, until it is released or the tab is gone: one to keep, or a turn, when those who asked before have had it.
 * A page that did not come over a safe way cannot ask others.
 */
export async function rightToOpen(): Promise<Right> {
  const { locks } = navigator as { locks?: LockManager | null }
  const hidden = document.visibilityState === "hidden"
  if (!locks) return { release: () => undefined, stays: !hidden }
  for (let place = 0; place < MAX_STREAMS && !hidden; place++) {
    const release = await lock(locks, `gradstream.stream.${place}`, { ifAvailable: true })
    if (release) return { release, stays: true }
  }
  return { release: (await lock(locks, TURN, {})) ?? (() => undefined), stays: false }
}

function lock(locks: LockManager, name: string, options: LockOptions): Promise<Release | null> {
  return new Promise((resolve) => {
    const held = locks.request(name, options, (lock) => {
      if (lock) return new Promise<void>((release) => resolve(release))
      resolve(null)
    })
    held.catch(() => resolve(() => undefined)) // this browser does not let it ask
  })
}
