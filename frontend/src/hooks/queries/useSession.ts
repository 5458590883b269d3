import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"

const KEY = ["session"]

export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/session")), staleTime: 60_000 })
}

export function useSignIn() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (secret: { code: string } | { token: string }) => body(api.POST("/api/v1/session", { body: secret })),
    onSuccess: (me) => client.setQueryData(KEY, me),
  })
}

export function useSignOut() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => body(api.DELETE("/api/v1/session")),
    onSuccess: () => client.clear(),
  })
}
