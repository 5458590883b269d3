import { useSearchParams } from "react-router"

/** The parameters in the address, and a way to change some of them that undoes no change made a moment before. */
export function useAddress(): [URLSearchParams, (edit: (params: URLSearchParams) => void) => void] {
  const [params, setParams] = useSearchParams()
  const change = (edit: (params: URLSearchParams) => void) => {
    // The router writes the address at once and draws the page later: `params` may be older than a change that was just made.
    const after = new URLSearchParams(window.location.search)
    edit(after)
    setParams(after, { replace: true, preventScrollReset: true })
  }
  return [params, change]
}

/** A function gets the view as it is by then: another change may be on its way into the address. */
export type Change<View> = (over: Partial<View> | ((now: View) => Partial<View>)) => void

/** A view that stands in the address; `write` puts there only what changes. */
export function useAddressView<View>(
  read: (params: URLSearchParams) => View,
  write: (params: URLSearchParams, over: Partial<View>, now: View) => void,
): [View, Change<View>] {
  const [params, edit] = useAddress()
  const change: Change<View> = (over) =>
    edit((after) => {
      const now = read(after)
      write(after, typeof over === "function" ? over(now) : over, now)
    })
  return [read(params), change]
}

/** An empty value is none. */
export function put(params: URLSearchParams, key: string, value: string): void {
  if (value) params.set(key, value)
  else params.delete(key)
}
