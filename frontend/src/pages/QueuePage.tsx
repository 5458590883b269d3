import { Stack } from "@mantine/core"
import { PageTitle } from "@/components/page/PageTitle"
import { HoldersPanel } from "@/panels/queue/HoldersPanel"
import { WaitingPanel } from "@/panels/queue/WaitingPanel"

export function QueuePage() {
  return (
    <>
      <PageTitle title="Queue" subtitle="By priority (0 to 100, the higher first), then by age. A job goes ahead of others only on places that they could never use." />
      <Stack gap="md">
        <WaitingPanel />
        <HoldersPanel />
      </Stack>
    </>
  )
}
