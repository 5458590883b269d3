import { Stack } from "@mantine/core"
import { lazy, Suspense } from "react"
import { useParams } from "react-router"
import { isMissing, type Job } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { NothingHere } from "@/components/page/NothingHere"
import { PageTitle } from "@/components/page/PageTitle"
import { BoardContext, useBoardStore } from "@/hooks/charts/useBoard"
import { FeedContext, useFeedStore } from "@/hooks/job/useFeed"
import { useJob } from "@/hooks/job/useJob"
import { useTour } from "@/hooks/tour/useTour"
import { loadPart } from "@/lib/browser/parts"
import { JobHeader } from "@/panels/job/header/JobHeader"
import { JobTabs } from "@/panels/job/JobTabs"

const Tour = lazy(() => loadPart(async () => ({ default: (await import("@/panels/job/tour/Tour")).Tour })))

export function JobPage() {
  const { id = "" } = useParams()
  const job = useJob(id)
  if (!job.data && isMissing(job.error)) {
    return <NothingHere title="No such job" why={`There is no job ${id}. It was deleted, or the address is incomplete.`} />
  }
  return (
    <>
      {!job.data && job.error && <PageTitle title="Job" />}
      <Loaded {...job} height={400}>
        {job.data && <OpenedJob key={job.data.id} job={job.data} />}
      </Loaded>
    </>
  )
}

function OpenedJob({ job }: { job: Job }) {
  const [step, go] = useTour(job.id)
  return (
    <FeedContext value={useFeedStore(job)}>
      <BoardContext value={useBoardStore()}>
        <Stack gap="md">
          <JobHeader />
          <JobTabs />
        </Stack>
        {step !== null && (
          <Suspense>
            <Tour step={step} onGo={go} />
          </Suspense>
        )}
      </BoardContext>
    </FeedContext>
  )
}
