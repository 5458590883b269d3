import { ActionIcon, Menu, Tooltip } from "@mantine/core"
import { IconApi, IconBook2, IconHelp, IconKeyboard, IconRoute } from "@tabler/icons-react"
import { Link } from "react-router"
import { useBeginTour } from "@/hooks/tour/useTour"

/** Where to look things up. `onKeys` shows the keys of the page. */
export function HelpMenu({ onKeys }: { onKeys: () => void }) {
  const beginTour = useBeginTour()
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <Tooltip label="Help">
          <ActionIcon variant="subtle" color="gray" size="lg" c="dimmed" aria-label="Help">
            <IconHelp size={18} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconRoute size={16} />} onClick={() => void beginTour()}>
          Tour of a job's page
        </Menu.Item>
        <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={onKeys}>
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Item component={Link} to="/guides" leftSection={<IconBook2 size={16} />}>
          Guides
        </Menu.Item>
        <Menu.Item component={Link} to="/docs" leftSection={<IconApi size={16} />}>
          API documentation
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
