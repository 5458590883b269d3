import { SimpleGrid, Stack } from "@mantine/core"
import { AttemptsPanel } from "./AttemptsPanel"
import { BestPanel } from "./BestPanel"
import { CurvesGrid } from "./CurvesGrid"
import { FailuresPanel } from "./FailuresPanel"
import { LedgerPanel } from "./LedgerPanel"
import { ProgressPanel } from "./ProgressPanel"
import { StragglersPanel } from "./StragglersPanel"
import { TimePanel } from "./TimePanel"

/** How the job came to where it is, how fast, and what it cost. */
export function OverviewTab() {
  return (
    <Stack gap="md">
      <ProgressPanel />
      <CurvesGrid />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <BestPanel />
        <LedgerPanel />
      </SimpleGrid>
      <TimePanel />
      <StragglersPanel />
      <AttemptsPanel />
      <FailuresPanel />
    </Stack>
  )
}
