import { Stack } from "@mantine/core"
import { useParams } from "react-router"
import type { Job } from "@/client"
import { Loaded } from "@/components/Loaded"
import { useJob } from "@/hooks/queries/useJob"
import { BoardContext, useBoardStore } from "@/hooks/useBoard"
import { FeedContext, useFeedStore } from "@/hooks/useFeed"
import { JobHeader } from "@/panels/job/JobHeader"
import { JobTabs } from "@/panels/job/JobTabs"

export function JobPage() {
  const { id = "" } = useParams()
  const job = useJob(id)
  return (
    <Loaded {...job} height={400}>
      {job.data && <OpenedJob key={job.data.id} job={job.data} />}
    </Loaded>
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
