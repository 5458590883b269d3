import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body } from "@/client"

const KEY = ["sessions"]

/** The browsers in which the user is signed in. */
export function useSessions() {
  return useQuery({ queryKey: KEY, queryFn: () => body(api.GET("/api/v1/sessions")) })
}

export function useEndSession() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => body(api.DELETE("/api/v1/sessions/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  })
}
