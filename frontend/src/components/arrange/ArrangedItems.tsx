import { Menu } from "@mantine/core"
import { IconArrowBackUp, IconArrowForwardUp, IconEyeOff } from "@tabler/icons-react"
import { useArrangement } from "@/hooks/views/useArrangement"

/** Items of a menu that change the place of a chart or panel in its grid. */
export function ArrangedItems({ hide }: { hide: string }) {
  const arrangement = useArrangement()
  if (!arrangement) return null
  const { moveEarlier, moveLater } = arrangement
  return (
    <>
      <Menu.Item leftSection={<IconArrowBackUp size={16} />} disabled={!moveEarlier} onClick={() => moveEarlier?.()}>
        Move earlier
      </Menu.Item>
      <Menu.Item leftSection={<IconArrowForwardUp size={16} />} disabled={!moveLater} onClick={() => moveLater?.()}>
        Move later
      </Menu.Item>
      <Menu.Item leftSection={<IconEyeOff size={16} />} onClick={arrangement.hide}>
        {hide}
      </Menu.Item>
    </>
  )
}
