import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback } from "react"
import { api, body, isSignedOut } from "@/client"
import { signedIn } from "@/lib/session/signedIn"

const KEY = ["session"]

export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: readSession, staleTime: 60_000 })
}

async function readSession() {
  const me = await body(api.GET("/api/v1/session"))
  signedIn.note()
  return me
}

/** Looks whether the session has ended, for a stream that was cut off: a browser does not tell why. A server that is away says nothing. */
export function useSessionCheck(): () => void {
  const client = useQueryClient()
  return useCallback(() => {
    readSession().catch((error: unknown) => {
      if (isSignedOut(error)) void client.invalidateQueries({ queryKey: KEY })
    })
  }, [client])
}

export function useSignIn() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: (secret: { code: string } | { token: string }) => body(api.POST("/api/v1/session", { body: secret })),
    onSuccess: (me) => {
      signedIn.note()
      client.setQueryData(KEY, me)
    },
  })
}

export function useSignOut() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: () => body(api.DELETE("/api/v1/session")),
    onSuccess: () => {
      signedIn.forget()
      client.clear()
    },
  })
}
