import { Stack } from "@mantine/core"
import { useFeed } from "@/hooks/job/useFeed"
import { useOverview } from "@/hooks/job/useOverview"
import { isPlain } from "@/lib/job/history"
import { hasEnded } from "@/lib/status"
import { TourInvite } from "@/panels/job/tour/TourInvite"
import { AttemptsPanel } from "./AttemptsPanel"
import { CoursePanel } from "./CoursePanel"
import { CurvesGrid } from "./CurvesGrid"
import { EvaluationsPanel } from "./EvaluationsPanel"
import { FailuresPanel } from "./FailuresPanel"
import { LedgerPanel } from "./LedgerPanel"
import { StragglersPanel } from "./StragglersPanel"
import { Tiles } from "./Tiles"
import { TimePanel } from "./TimePanel"

/** The dashboard of a job: its figures, how it learns, who is late and what that costs; then its history, where that is not one sentence. */
export function OverviewTab() {
  const job = useFeed((feed) => feed.job)
  const { data } = useOverview(job)
  const plain = !data || isPlain(data, job)
  const trains = job.progress.first_step_at !== null || hasEnded(job)
  return (
    <Stack gap="md">
      {!trains && <CoursePanel />}
      <TourInvite />
      <Tiles />
      <CurvesGrid />
      <StragglersPanel />
      <TimePanel />
      <EvaluationsPanel />
      {!plain && <LedgerPanel />}
      {!plain && <AttemptsPanel />}
      {!plain && <FailuresPanel />}
      {trains && <CoursePanel plain={plain} />}
    </Stack>
  )
}
