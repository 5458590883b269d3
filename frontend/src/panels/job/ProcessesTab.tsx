import { Stack } from "@mantine/core"
import { AttemptsPanel } from "./AttemptsPanel"
import { ProcessesPanel } from "./ProcessesPanel"

export function ProcessesTab() {
  return (
    <Stack gap="md">
      <ProcessesPanel />
      <AttemptsPanel />
    </Stack>
  )
}
