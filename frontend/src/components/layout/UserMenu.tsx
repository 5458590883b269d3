import { Avatar, Menu, UnstyledButton } from "@mantine/core"
import { IconLogout, IconSettings } from "@tabler/icons-react"
import { Link, useNavigate } from "react-router"
import { useSignOut } from "@/hooks/session/useSession"

export function UserMenu({ user }: { user: string }) {
  const signOut = useSignOut()
  const navigate = useNavigate()
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <UnstyledButton aria-label={`Signed in as ${user}`}>
          <Avatar color="stream" variant="filled" radius="xl" size={30}>
            {user.slice(0, 1).toUpperCase()}
          </Avatar>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label c="dimmed">Signed in as {user}</Menu.Label>
        <Menu.Item component={Link} to="/settings" leftSection={<IconSettings size={16} />}>
          Settings
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => signOut.mutate(undefined, { onSuccess: () => void navigate("/sign-in") })}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
