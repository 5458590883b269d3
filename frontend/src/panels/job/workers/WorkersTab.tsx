import { Stack } from "@mantine/core"
import { ProcessesPanel } from "./ProcessesPanel"
import { ServersPanel } from "./ServersPanel"
import { ShardsPanel } from "./ShardsPanel"
import { WorkersPanel } from "./WorkersPanel"

/** How the processes of the live attempt stand, and all that there ever were. */
export function WorkersTab() {
  return (
    <Stack gap="md">
      <WorkersPanel />
      <ServersPanel />
      <ShardsPanel />
      <ProcessesPanel />
    </Stack>
  )
}
