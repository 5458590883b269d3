type Subscribe = (listener: () => void) => () => void

/** Calls `read` at most once in `ms` after something has changed, never for each change; returns what ends it. */
export function every(ms: number, subscribe: Subscribe, read: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stop = subscribe(() => {
    timer ??= setTimeout(() => {
      timer = undefined
      read()
    }, ms)
  })
  return () => {
    stop()
    clearTimeout(timer)
  }
}
