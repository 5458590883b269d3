import { Stack } from "@mantine/core"
import { PageTitle } from "@/components/PageTitle"
import { HoldersPanel } from "@/panels/queue/HoldersPanel"
import { WaitingPanel } from "@/panels/queue/WaitingPanel"

export function QueuePage() {
  return (
    <>
      <PageTitle title="Queue" subtitle="The most important and then the oldest first; nobody overtakes a job that waits for room" />
      <Stack gap="md">
        <WaitingPanel />
        <HoldersPanel />
      </Stack>
    </>
  )
}
