import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { Scope } from "@/lib/session/tokens"

const KEY = ["tokens"]

export function useTokens() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/tokens")) })
}

export function useCreateToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (token: { name: string; scope: Scope; expires_in: number | null }) => body(api.POST("/api/v1/tokens", { body: { ...token, kind: "api" } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  })
}

export function useRevokeToken() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => body(api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } })),
    onSuccess: () => Promise.all([KEY, ["sessions"]].map((queryKey) => client.invalidateQueries({ queryKey }))),
  })
}
