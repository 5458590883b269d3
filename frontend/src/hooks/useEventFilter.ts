import type { EventFilter } from "@/lib/events"
import { put, useAddress } from "./useAddress"

/** Which events are shown, as it stands in the address. */
export function useEventFilter(): [EventFilter, (change: Partial<EventFilter>) => void] {
  const [params, edit] = useAddress()
  const read = (from: URLSearchParams): EventFilter => ({ kinds: from.getAll("kind"), process: from.get("process"), text: from.get("about") ?? "" })
  const change = (changed: Partial<EventFilter>) =>
    edit((next) => {
      const after = { ...read(next), ...changed }
      next.delete("kind")
      for (const kind of after.kinds) next.append("kind", kind)
      put(next, "process", after.process ?? "")
      put(next, "about", after.text)
    })
  return [read(params), change]
}
