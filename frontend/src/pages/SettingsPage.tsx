import { Stack } from "@mantine/core"
import { PageTitle } from "@/components/PageTitle"
import { AppearancePanel } from "@/panels/settings/AppearancePanel"
import { TokensPanel } from "@/panels/settings/TokensPanel"

export function SettingsPage() {
  return (
    <>
      <PageTitle title="Settings" />
      <Stack gap="md" maw={860}>
        <TokensPanel />
        <AppearancePanel />
      </Stack>
    </>
  )
}
