import { useQuery } from "@tanstack/react-query"
import { api, body, type CatalogueEntry } from "@/client"
import { entryOf, type Catalogue } from "@/lib/charts/metrics"

/** It changes with the platform's version only. */
const NEVER = Infinity
const NOTHING: Catalogue = []

export function useCatalogueQuery() {
  return useQuery({ queryKey: ["catalogue"], queryFn: () => body(api.GET("/api/v1/metrics/catalogue")), staleTime: NEVER, gcTime: NEVER })
}

/** The layout shows no page before it is there; should it not come, names have to do. */
export function useCatalogue(): Catalogue {
  return useCatalogueQuery().data ?? NOTHING
}

/** Name, title, unit and meaning of a metric. */
export function useMetric(name: string): CatalogueEntry {
  return entryOf(useCatalogue(), name)
}
