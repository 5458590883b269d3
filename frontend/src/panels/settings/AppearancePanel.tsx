import { SegmentedControl, useMantineColorScheme, type MantineColorScheme } from "@mantine/core"
import { Panel } from "@/components/page/Panel"

const SCHEMES = [
  { value: "auto", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
]

export function AppearancePanel() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Panel title="Appearance" subtitle="Stored in this browser">
      <SegmentedControl aria-label="Colours" data={SCHEMES} value={colorScheme} onChange={(value) => setColorScheme(value as MantineColorScheme)} />
    </Panel>
  )
}
