import { useQuery } from "@tanstack/react-query"
import { loadPart } from "@/lib/browser/parts"
import { loaderOf } from "@/lib/guides/guides"

/** The guide of this name, null if there is none. */
export function useGuide(name: string) {
  const load = loaderOf(name)
  return useQuery({ queryKey: ["guide", name], queryFn: () => (load ? loadPart(load) : null), staleTime: Infinity })
}
