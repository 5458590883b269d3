import { queryOptions, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

/** A job file in two lengths, and the values it comes to. Shards that `auto` comes to are known some time after the start. */
export function configQuery(id: string, shards?: number) {
  return queryOptions({
    queryKey: ["config", id, shards],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/config", { params: { path: { id } } })),
  })
}

export function useConfig(id: string | null, shards?: number) {
  return useQuery({
    ...configQuery(id ?? "", shards),
    enabled: id !== null,
    placeholderData: (before) => (id === null ? undefined : before),
  })
}
