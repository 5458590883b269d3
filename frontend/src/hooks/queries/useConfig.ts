import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

/** A job file in two lengths. Shards that `auto` comes to are known some time after the start. */
export function useConfig(id: string | null, shards?: number) {
  return useQuery({
    queryKey: ["config", id, shards],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/config", { params: { path: { id: id! } } })),
    enabled: id !== null,
    placeholderData: (before) => (id === null ? undefined : before),
  })
}
