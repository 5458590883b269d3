import { AppShell, Burger, Button, Container, Drawer, Group, Stack, VisuallyHidden } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { IconPlus } from "@tabler/icons-react"
import { useEffect, useRef } from "react"
import { Link, Navigate, NavLink, Outlet, useLocation, useNavigate, useNavigation } from "react-router"
import { isSignedOut } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useCatalogueQuery } from "@/hooks/charts/useMetricCatalogue"
import { useSession } from "@/hooks/session/useSession"
import { useKeyboard, useKeys } from "@/hooks/useKeys"
import { preparePart } from "@/lib/browser/parts"
import { signedIn } from "@/lib/session/signedIn"
import { Brand } from "./Brand"
import { HelpMenu } from "./HelpMenu"
import { KeysHelp } from "./KeysHelp"
import { SchemeToggle } from "./SchemeToggle"
import { UserMenu } from "./UserMenu"
import classes from "./Layout.module.css"

const PLACES = [
  { to: "/jobs", label: "Jobs", key: "j" },
  { to: "/compare", label: "Compare", key: "c" },
  { to: "/queue", label: "Queue", key: "q" },
  { to: "/nodes", label: "Nodes", key: "n" },
  { to: "/settings", label: "Settings", key: "s" },
]

/** Then the page that was opened has what it needs, most likely. */
const SETTLED_MS = 500

export function Layout() {
  const session = useSession()
  const titles = useCatalogueQuery()
  const location = useLocation()
  const main = useLostFocus()
  useEffect(prepareJobs, [])
  if (isSignedOut(session.error)) {
    return <Navigate to="/sign-in" state={{ next: location.pathname + location.search, ended: signedIn.noted() }} replace />
  }
  return (
    <AppShell header={{ height: 56 }} classNames={{ header: classes.header, main: classes.main }}>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <AppShell.Header>
        <Header user={session.data?.user.name ?? ""} />
        <Underway />
      </AppShell.Header>
      <AppShell.Main ref={main} id="main" tabIndex={-1}>
        <Container size={1360} px={{ base: "sm", sm: "lg" }} py="lg">
          <Loaded {...session} isPending={session.isPending || titles.isPending} height={400}>
            <Outlet />
          </Loaded>
        </Container>
      </AppShell.Main>
    </AppShell>
  )
}

/** The list of jobs is where most go next: it is there when they do. A job's page has scripts enough of its own to fetch. */
function prepareJobs(): (() => void) | undefined {
  if (window.location.pathname.startsWith("/jobs/")) return
  const timer = window.setTimeout(fetchJobs, SETTLED_MS)
  return () => window.clearTimeout(timer)
}

/** If it does not come now, the page requests it again when it is needed. */
function fetchJobs() {
  void preparePart(() => import("@/pages/JobsPage"))
}

/** The element with the focus went away with its page: the next page has it, for those who read by keyboard or by ear. */
function useLostFocus() {
  const main = useRef<HTMLElement>(null)
  const { pathname } = useLocation()
  const before = useRef(pathname)
  useEffect(() => {
    if (before.current === pathname) return
    before.current = pathname
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true })
  }, [pathname])
  return main
}

/** The next page is on its way, and takes its time. */
function Underway() {
  const { state } = useNavigation()
  if (state !== "loading") return null
  return (
    <div className={classes.underway} role="status">
      <VisuallyHidden>Loading the page</VisuallyHidden>
    </div>
  )
}

function Header({ user }: { user: string }) {
  const [opened, menu] = useDisclosure(false)
  const [helped, help] = useDisclosure(false)
  const navigate = useNavigate()
  useKeyboard()
  useKeys("Everywhere", [
    { keys: ["?"], label: "Show the keys", run: help.toggle },
    ...PLACES.map(({ to, label, key }) => ({ keys: [`g ${key}`], label: `Go to ${label.toLowerCase()}`, run: () => void navigate(to) })),
    { keys: ["g g"], label: "Go to the guides", run: () => void navigate("/guides") },
    { keys: ["g d"], label: "Go to the API documentation", run: () => void navigate("/docs") },
    { keys: ["c"], label: "New job", run: () => void navigate("/jobs/new") },
  ])
  return (
    <Container size={1360} px={{ base: "sm", sm: "lg" }} h="100%">
      <Group h="100%" justify="space-between" wrap="nowrap">
        <Group gap="xl" wrap="nowrap">
          <Brand />
          <Group component="nav" aria-label="Main" gap={4} visibleFrom="sm">
            <Places />
          </Group>
        </Group>
        <Group gap="xs" wrap="nowrap">
          <Button component={Link} to="/jobs/new" size="sm" leftSection={<IconPlus size={16} />} visibleFrom="sm">
            New job
          </Button>
          <HelpMenu onKeys={help.open} />
          <KeysHelp opened={helped} onClose={help.close} />
          <SchemeToggle />
          <UserMenu user={user} />
          <Burger opened={opened} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label="Menu" aria-expanded={opened} />
        </Group>
      </Group>
      <Drawer opened={opened} onClose={menu.close} position="right" size="xs" title="Menu" hiddenFrom="sm" closeButtonProps={{ "aria-label": "Close the menu" }}>
        <Stack component="nav" aria-label="Main" gap={4} onClick={menu.close}>
          <Places />
          <Button component={Link} to="/jobs/new" mt="md" leftSection={<IconPlus size={16} />}>
            New job
          </Button>
        </Stack>
      </Drawer>
    </Container>
  )
}

function Places() {
  return PLACES.map(({ to, label }) => (
    <NavLink key={to} to={to} className={classes.link} {...(to === "/jobs" && { onPointerEnter: fetchJobs, onFocus: fetchJobs })}>
      {label}
    </NavLink>
  ))
}
