import { useState } from "react"

export interface Selection {
  ids: ReadonlySet<string>
  /** With `range`, all from the one that was selected last. */
  toggle: (id: string, range?: boolean) => void
  all: (on: boolean) => void
  select: (ids: readonly string[]) => void
  drop: (gone: ReadonlySet<string>) => void
}

/** Which of the listed ids are selected; `order` is how they stand. */
export function useSelection(order: readonly string[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [last, setLast] = useState<string | null>(null)
  const toggle = (id: string, range = false) => {
    const [from, to] = [range && last !== null ? order.indexOf(last) : -1, order.indexOf(id)]
    const meant = from < 0 ? [id] : order.slice(Math.min(from, to), Math.max(from, to) + 1)
    setLast(id)
    setIds((now) => {
      const next = new Set(now)
      for (const each of meant) if (from < 0 && now.has(each)) next.delete(each)
        else next.add(each)
      return next
    })
  }
  const all = (on: boolean) => setIds(new Set(on ? order : []))
  const drop = (gone: ReadonlySet<string>) => setIds((now) => new Set([...now].filter((id) => !gone.has(id))))
  return { ids, toggle, all, select: (meant) => setIds(new Set(meant)), drop }
}
