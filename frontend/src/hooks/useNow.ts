import { useEffect, useState } from "react"

const watching = new Set<() => void>()
let timer: number | undefined

/** The time in milliseconds, anew every second while `ticking`: at the same moment for all, so that they are one render. */
export function useNow(ticking = true): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => (ticking ? everySecond(() => setNow(Date.now())) : undefined), [ticking])
  return now
}

function everySecond(tell: () => void): () => void {
  watching.add(tell)
  timer ??= window.setInterval(() => watching.forEach((each) => each()), 1000)
  return () => {
    watching.delete(tell)
    if (watching.size > 0) return
    window.clearInterval(timer)
    timer = undefined
  }
}
