import { Stack } from "@mantine/core"
import { useParams } from "react-router"
import { isMissing, type Job } from "@/client"
import { Loaded } from "@/components/Loaded"
import { NothingHere } from "@/components/NothingHere"
import { PageTitle } from "@/components/PageTitle"
import { useJob } from "@/hooks/queries/useJob"
import { BoardContext, useBoardStore } from "@/hooks/useBoard"
import { FeedContext, useFeedStore } from "@/hooks/useFeed"
import { JobHeader } from "@/panels/job/JobHeader"
import { JobTabs } from "@/panels/job/JobTabs"

export function JobPage() {
  const { id = "" } = useParams()
  const job = useJob(id)
  if (!job.data && isMissing(job.error)) {
    return <NothingHere title="No such job" why={`There is no job ${id}: it has been deleted, or its address is not complete.`} />
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
  return (
    <FeedContext value={useFeedStore(job)}>
      <BoardContext value={useBoardStore()}>
        <Stack gap="md">
          <JobHeader />
          <JobTabs />
        </Stack>
      </BoardContext>
    </FeedContext>
  )
}
