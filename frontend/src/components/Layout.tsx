import { AppShell, Burger, Button, Container, Drawer, Group, Stack } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { IconPlus } from "@tabler/icons-react"
import { Link, Navigate, NavLink, Outlet, useLocation } from "react-router"
import { isSignedOut } from "@/client"
import { useSession } from "@/hooks/queries/useSession"
import { Brand } from "./Brand"
import { Loaded } from "./Loaded"
import { SchemeToggle } from "./SchemeToggle"
import { UserMenu } from "./UserMenu"
import classes from "./Layout.module.css"

const PLACES = [
  { to: "/jobs", label: "Jobs" },
  { to: "/compare", label: "Compare" },
  { to: "/nodes", label: "Nodes" },
  { to: "/settings", label: "Settings" },
]

export function Layout() {
  const session = useSession()
  const location = useLocation()
  if (isSignedOut(session.error)) {
    return <Navigate to="/sign-in" state={{ next: location.pathname + location.search }} replace />
  }
  return (
    <AppShell header={{ height: 56 }} classNames={{ header: classes.header, main: classes.main }}>
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <AppShell.Header>
        <Header user={session.data?.user.name ?? ""} />
      </AppShell.Header>
      <AppShell.Main id="main" tabIndex={-1}>
        <Container size={1360} px={{ base: "sm", sm: "lg" }} py="lg">
          <Loaded {...session} height={400}>
            <Outlet />
          </Loaded>
        </Container>
      </AppShell.Main>
    </AppShell>
  )
}

function Header({ user }: { user: string }) {
  const [opened, menu] = useDisclosure(false)
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
    <NavLink key={to} to={to} className={classes.link}>
      {label}
    </NavLink>
  ))
}
