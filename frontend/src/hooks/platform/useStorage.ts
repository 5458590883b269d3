import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"

const KEY = ["storage"]

/** Disk usage of the platform. */
export function useStorage() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/storage")) })
}

const collect = (dryRun: boolean) => body(api.POST("/api/v1/storage/collect", { params: { query: { dry_run: dryRun } } }))

/** Unused data, as of now. */
export function useUnneeded() {
  return useQuery({ queryKey: [...KEY, "unneeded"], queryFn: () => collect(true), staleTime: 0, gcTime: 0 })
}

export function useCollectStorage() {
  const client = useQueryClient()
  return useMutation({ mutationFn: () => collect(false), onSuccess: () => client.invalidateQueries({ queryKey: KEY, exact: true }) })
}
