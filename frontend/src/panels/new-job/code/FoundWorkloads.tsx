import { Button, Group, Text } from "@mantine/core"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { getIn } from "@/lib/job-file/draft"

/** The workload classes of the code, where the job file names none of them. */
export function FoundWorkloads({ job }: { job: NewJob }) {
  const named = getIn(job.draft.value, ENTRYPOINT)
  if (job.workloads.length === 0 || job.workloads.some(({ entrypoint }) => entrypoint === named)) return null
  return (
    <Group gap="xs" mt="sm" role="group" aria-label="Workload classes in the code">
      <Text size="sm">Train:</Text>
      {job.workloads.map(({ entrypoint, summary }) => (
        <Button key={entrypoint} size="compact-sm" variant="light" title={summary || undefined} onClick={() => job.setValue(ENTRYPOINT, entrypoint)}>
          {entrypoint}
        </Button>
      ))}
    </Group>
  )
}

const ENTRYPOINT = ["workload", "entrypoint"] as const
