import { renderHook } from "@testing-library/react"
import { createContext, useContext, type ReactNode } from "react"
import { createBrowserRouter, RouterProvider, useLocation } from "react-router"

/** Content of the router's one page. */
const Shown = createContext<ReactNode>(null)
const Page = () => useContext(Shown)

/** For tests: a hook on a page with this address, as the browser has it, and the address after each change. */
export function renderAt<T>(address: string, hook: () => T) {
  window.history.replaceState(null, "", address)
  const router = createBrowserRouter([{ path: "*", element: <Page /> }])
  const wrapper = ({ children }: { children: ReactNode }) => (
    <Shown value={children}>
      <RouterProvider router={router} />
    </Shown>
  )
  return renderHook(() => ({ used: hook(), search: useLocation().search }), { wrapper }).result
}
