import { useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import { put, useAddress } from "@/hooks/useAddress"
import { layoutOf, OWN_LAYOUT, ownLayout, type Layout } from "@/lib/views/chartLayout"
import { useViews } from "./useViews"

const PLACE = "job-metrics"
const PARAMETER = "layout"

/** The layout of the charts on the tab Metrics: the user's own, for all jobs, or the shared one that the address names. A change is always one of the user's own. */
export function useChartLayout() {
  const { views, items, save, read } = useViews(PLACE)
  const [address, edit] = useAddress()
  const id = address.get(PARAMETER)
  const lent = useQuery({
    queryKey: ["view", id],
    queryFn: () => body(api.GET("/api/v1/views/{id}", { params: { path: { id: id! } } })),
    enabled: id !== null,
  })
  const own = ownLayout(items)
  const leaveLent = () => {
    if (id !== null) edit((params) => put(params, PARAMETER, ""))
  }
  const change = (over: (now: Layout) => Partial<Layout>, shared?: boolean) => {
    const kept = ownLayout(read())
    const now = layoutOf(lent.data ?? kept)
    save.mutate({ place: PLACE, name: OWN_LAYOUT, shared: shared ?? kept?.shared ?? false, state: { ...now, ...over(now) } })
    leaveLent()
  }
  return {
    layout: layoutOf(lent.data ?? own),
    own,
    lent: lent.data,
    /** A layout that could not be read is the usual one: charts do not wait for it. */
    isPending: views.isPending || (id !== null && lent.isPending),
    error: save.error ?? lent.error,
    forgetError: () => (save.error ? save.reset() : leaveLent()),
    change,
    leaveLent,
  }
}

export type UsedLayout = ReturnType<typeof useChartLayout>
