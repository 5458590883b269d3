import { createBrowserRouter, Navigate } from "react-router"
import { Layout } from "./components/Layout"
import { PageError } from "./components/PageError"
import { NotFoundPage } from "./pages/NotFoundPage"
import { SignInPage } from "./pages/SignInPage"

export const router = createBrowserRouter([
  { path: "/sign-in", element: <SignInPage />, errorElement: <PageError /> },
  {
    element: <Layout />,
    errorElement: <PageError />,
    hydrateFallbackElement: <></>,
    children: [
      { path: "/", element: <Navigate to="/jobs" replace /> },
      { path: "/jobs", lazy: async () => ({ Component: (await import("./pages/JobsPage")).JobsPage }) },
      { path: "/jobs/new", lazy: async () => ({ Component: (await import("./pages/NewJobPage")).NewJobPage }) },
      { path: "/jobs/:id/:tab?", lazy: async () => ({ Component: (await import("./pages/JobPage")).JobPage }) },
      { path: "/queue", lazy: async () => ({ Component: (await import("./pages/QueuePage")).QueuePage }) },
      { path: "/docs", lazy: async () => ({ Component: (await import("./pages/DocsPage")).DocsPage }) },
      { path: "/compare", lazy: async () => ({ Component: (await import("./pages/ComparePage")).ComparePage }) },
      { path: "/nodes", lazy: async () => ({ Component: (await import("./pages/NodesPage")).NodesPage }) },
      { path: "/settings", lazy: async () => ({ Component: (await import("./pages/SettingsPage")).SettingsPage }) },
      { path: "*", element: <NotFoundPage /> },
    ],
  },
])
