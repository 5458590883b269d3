import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { api, body, type SavedView, type SaveView, type ViewPlace } from "@/client"

interface Views {
  items: SavedView[]
}

/** Saved views of a page: the user's own, and those that others share. A change shows at once; the server has the last word. */
export function useViews(place: ViewPlace) {
  const client = useQueryClient()
  const key = ["views", place]
  const views = useQuery({ queryKey: key, queryFn: () => body(api.GET("/api/v1/views", { params: { query: { place } } })) })
  const show = (change: (items: SavedView[]) => SavedView[]) => {
    client.setQueryData<Views>(key, (now) => ({ items: change(now?.items ?? []) }))
  }
  /** Changes go to the server one after the other; the list is read again behind the last. */
  const sent = { mutationKey: key, scope: { id: key.join() }, onSettled: () => (client.isMutating({ mutationKey: key }) === 1 ? client.invalidateQueries({ queryKey: key }) : undefined) }
  const save = useMutation({
    ...sent,
    mutationFn: (view: SaveView) => body(api.PUT("/api/v1/views", { body: view })),
    onMutate: async (view) => {
      await client.cancelQueries({ queryKey: key })
      show((items) => withView(items, view))
    },
  })
  const remove = useMutation({
    ...sent,
    mutationFn: (id: string) => body(api.DELETE("/api/v1/views/{id}", { params: { path: { id } } })),
    onMutate: async (id) => {
      await client.cancelQueries({ queryKey: key })
      show((items) => items.filter((each) => each.id !== id))
    },
  })
  return { views, items: views.data?.items ?? [], save, remove, read: () => client.getQueryData<Views>(key)?.items ?? [] }
}

/** One's own views with this one, which has no id until the server has given it one. */
function withView(items: readonly SavedView[], view: SaveView): SavedView[] {
  const isSame = (each: SavedView) => each.mine && each.name === view.name
  const before = items.find(isSame)
  const now = new Date().toISOString()
  const saved: SavedView = { id: "", owner: "", created_at: now, updated_at: now, ...before, mine: true, ...view }
  return [...items.filter((each) => !isSame(each)), saved]
}
