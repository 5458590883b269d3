import { put, useAddressView, type Change } from "@/hooks/useAddress"
import type { EventFilter } from "@/lib/job/events"

/** Which events are shown, as it stands in the address. */
export function useEventFilter(): [EventFilter, Change<EventFilter>] {
  return useAddressView(read, write)
}

function read(params: URLSearchParams): EventFilter {
  return { kinds: params.getAll("kind"), process: params.get("process"), text: params.get("about") ?? "" }
}

function write(params: URLSearchParams, over: Partial<EventFilter>, now: EventFilter): void {
  const after = { ...now, ...over }
  params.delete("kind")
  for (const kind of after.kinds) params.append("kind", kind)
  put(params, "process", after.process ?? "")
  put(params, "about", after.text)
}
