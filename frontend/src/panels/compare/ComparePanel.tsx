import { ActionIcon, Group, Menu } from "@mantine/core"
import { IconDots } from "@tabler/icons-react"
import type { ReactNode } from "react"
import { ArrangedItems } from "@/components/arrange/ArrangedItems"
import { Grip } from "@/components/arrange/Grip"
import { Panel } from "@/components/page/Panel"

interface ComparePanelProps {
  title: string
  subtitle: ReactNode
  actions?: ReactNode
  flush?: boolean
  /** True: a menu among the actions has the items that move and remove it. */
  hasMenu?: boolean
  children: ReactNode
}

/** A panel of Compare, which the user moves and removes. */
export function ComparePanel({ title, actions, hasMenu = false, ...panel }: ComparePanelProps) {
  return (
    <Panel
      {...panel}
      title={<Grip title={title} />}
      actions={
        <Group gap="xs" wrap="nowrap" align="flex-start">
          <Group gap="xs" justify="flex-end">
            {actions}
          </Group>
          {!hasMenu && <PanelMenu title={title} />}
        </Group>
      }
    />
  )
}

export const REMOVE = "Remove this panel"

function PanelMenu({ title }: { title: string }) {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`More for ${title}`}>
          <IconDots size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <ArrangedItems hide={REMOVE} />
      </Menu.Dropdown>
    </Menu>
  )
}
