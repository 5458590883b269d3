import { useLocation, useSearchParams } from "react-router"

/** The last change, and the address that it was made at: what is shown may still be that one when the next change comes. */
let newest: { at: string; params: URLSearchParams } | null = null

/** The parameters in the address, and a way to change some of them that undoes no change made a moment before. */
export function useAddress(): [URLSearchParams, (edit: (params: URLSearchParams) => void) => void] {
  const { key, pathname, search } = useLocation()
  const [params, setParams] = useSearchParams()
  const at = `${key} ${pathname}${search}`
  const change = (edit: (params: URLSearchParams) => void) => {
    const after = new URLSearchParams(newest?.at === at ? newest.params : params)
    edit(after)
    newest = { at, params: after }
    setParams(after, { replace: true, preventScrollReset: true })
  }
  return [params, change]
}

/** An empty value is none. */
export function put(params: URLSearchParams, key: string, value: string): void {
  if (value) params.set(key, value)
  else params.delete(key)
}
