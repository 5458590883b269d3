import { QueryCache, QueryClient } from "@tanstack/react-query"
import { isSignedOut } from "@/client"
import { againAfter, mayRecover } from "@/lib/api/recovery"

/**
 * A request that the server refused is not sent again; one that did not reach it is, until it is answered. A session that has ended shows wherever it is noticed.
 * A browser that takes itself to be offline may still reach a platform on the same machine or network: requests do not wait for it.
 */
export function makeQueryClient(): QueryClient {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (isSignedOut(error) && query.queryKey[0] !== "session") void client.invalidateQueries({ queryKey: ["session"] })
      },
    }),
    defaultOptions: {
      mutations: { networkMode: "always" },
      queries: { networkMode: "always", refetchOnReconnect: true, staleTime: 5_000, refetchInterval: againAfter(false), retry: (failures, error) => failures < 3 && mayRecover(error) },
    },
  })
  return client
}
