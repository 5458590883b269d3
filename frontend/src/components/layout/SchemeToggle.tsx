import { ActionIcon, Tooltip, useMantineColorScheme, type MantineColorScheme } from "@mantine/core"
import { IconDeviceDesktop, IconMoon, IconSun, type Icon } from "@tabler/icons-react"

const NEXT: Record<MantineColorScheme, { icon: Icon; label: string; next: MantineColorScheme }> = {
  auto: { icon: IconDeviceDesktop, label: "Colours follow the system", next: "light" },
  light: { icon: IconSun, label: "Light colours", next: "dark" },
  dark: { icon: IconMoon, label: "Dark colours", next: "auto" },
}

export function SchemeToggle() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const { icon: Icon, label, next } = NEXT[colorScheme]
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="lg" c="dimmed" aria-label={`${label}. Change`} onClick={() => setColorScheme(next)}>
        <Icon size={18} />
      </ActionIcon>
    </Tooltip>
  )
}
