import { createBrowserRouter, Navigate } from "react-router"
import { Layout } from "./components/layout/Layout"
import { PageError } from "./components/page/PageError"
import { loadPart } from "./lib/browser/parts"
import { NotFoundPage } from "./pages/NotFoundPage"
import { SignInPage } from "./pages/SignInPage"
import { prepareCharts } from "./panels/job/metrics/lazyMetricPanel"

export const router = createBrowserRouter([
  { path: "/sign-in", element: <SignInPage />, errorElement: <PageError /> },
  {
    element: <Layout />,
    errorElement: <PageError />,
    hydrateFallbackElement: <></>,
    children: [
      { path: "/", element: <Navigate to="/jobs" replace /> },
      { path: "/jobs", lazy: () => part(async () => ({ Component: (await import("./pages/JobsPage")).JobsPage })) },
      { path: "/jobs/new", lazy: () => part(async () => ({ Component: (await import("./pages/NewJobPage")).NewJobPage })) },
      { path: "/jobs/:id/:tab?", lazy: jobPage },
      { path: "/queue", lazy: () => part(async () => ({ Component: (await import("./pages/QueuePage")).QueuePage })) },
      { path: "/docs", lazy: () => part(async () => ({ Component: (await import("./pages/DocsPage")).DocsPage })) },
      { path: "/guides/:name?", lazy: () => part(async () => ({ Component: (await import("./pages/GuidesPage")).GuidesPage })) },
      { path: "/compare", lazy: () => part(async () => ({ Component: (await import("./pages/ComparePage")).ComparePage })) },
      { path: "/nodes", lazy: () => part(async () => ({ Component: (await import("./pages/NodesPage")).NodesPage })) },
      { path: "/settings", lazy: () => part(async () => ({ Component: (await import("./pages/SettingsPage")).SettingsPage })) },
      { path: "*", element: <NotFoundPage /> },
    ],
  },
])

/** With the drawing of its curves, which would be asked for only when the job has been read. */
function jobPage() {
  const page = part(async () => ({ Component: (await import("./pages/JobPage")).JobPage }))
  prepareCharts()
  return page
}

/** After an upgrade of the server the page that one is on the way to is opened, not the one that is left. */
function part<T>(load: () => Promise<T>): Promise<T> {
  return loadPart(load, () => {
    const { location } = router.state.navigation
    if (location) window.location.assign(router.createHref(location))
    else window.location.reload()
  })
}
