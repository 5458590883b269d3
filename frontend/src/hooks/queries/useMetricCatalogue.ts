import { useQuery } from "@tanstack/react-query"
import { api, body, type CatalogueEntry } from "@/client"

function useCatalogue() {
  return useQuery({ queryKey: ["catalogue"], queryFn: () => body(api.GET("/api/v1/metrics/catalogue")), staleTime: Infinity })
}

/** Name, unit and meaning of a metric. A user's own evaluation metric is in no catalogue; its name then has to do. */
export function useMetric(name: string): CatalogueEntry {
  return useCatalogue().data?.find((entry) => entry.name === name) ?? { name, unit: "", meaning: "", better: "neither" }
}
