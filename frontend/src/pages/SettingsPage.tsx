import { Stack } from "@mantine/core"
import { PageTitle } from "@/components/page/PageTitle"
import { AboutPanel } from "@/panels/settings/AboutPanel"
import { AppearancePanel } from "@/panels/settings/AppearancePanel"
import { KeysPanel } from "@/panels/settings/KeysPanel"
import { SessionsPanel } from "@/panels/settings/SessionsPanel"
import { StoragePanel } from "@/panels/settings/StoragePanel"
import { TokensPanel } from "@/panels/settings/TokensPanel"

export function SettingsPage() {
  return (
    <>
      <PageTitle title="Settings" />
      <Stack gap="md" maw={860}>
        <TokensPanel />
        <SessionsPanel />
        <StoragePanel />
        <AppearancePanel />
        <KeysPanel />
        <AboutPanel />
      </Stack>
    </>
  )
}
