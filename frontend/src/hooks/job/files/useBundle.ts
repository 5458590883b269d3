import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"

/** A bundle never changes, so its answers are kept. */
const KEPT = { staleTime: Infinity }

/** The files of the code of a job. */
export function useBundle(hash: string) {
  return useQuery({
    ...KEPT,
    queryKey: ["bundle", hash],
    queryFn: () => body(api.GET("/api/v1/bundles/{hash}", { params: { path: { hash } } })),
  })
}

/** One of them as text. */
export function useBundleFile(hash: string, path: string | null) {
  return useQuery({
    ...KEPT,
    queryKey: ["bundle file", hash, path],
    queryFn: () => body(api.GET("/api/v1/bundles/{hash}/files/{path}", { params: { path: { hash, path: path ?? "" } } })),
    enabled: path !== null,
  })
}

/** The submitted files that differed from the commit that the job's origin names. */
export function useUncommittedChanges(id: string) {
  return useQuery({
    ...KEPT,
    queryKey: ["uncommitted changes", id],
    queryFn: () => body(api.GET("/api/v1/jobs/{id}/uncommitted", { params: { path: { id } } })),
  })
}

/** The files in which the second bundle differs from the first. */
export function useCodeDifferences(hash: string, other: string) {
  return useQuery({
    ...KEPT,
    queryKey: ["code differences", hash, other],
    queryFn: () => body(api.GET("/api/v1/bundles/{hash}/differences/{other}", { params: { path: { hash, other } } })),
  })
}
