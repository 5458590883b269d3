import { Button, Group, Text } from "@mantine/core"
import type { NewJob } from "@/hooks/new-job/useNewJob"
import { getIn } from "@/lib/job-file/draft"

/** The workload classes of the code, to select one from: where there are several, or the job file names none of them. */
export function FoundWorkloads({ job }: { job: NewJob }) {
  const named = getIn(job.draft.value, ENTRYPOINT)
  const { workloads } = job
  if (workloads.length === 0 || (workloads.length === 1 && workloads[0]!.entrypoint === named)) return null
  return (
    <Group gap="xs" mt="sm" role="group" aria-label="Workload classes in the code">
      <Text size="sm">Train:</Text>
      {workloads.map(({ entrypoint, summary }) => (
        <Button
          key={entrypoint}
          size="compact-sm"
          variant={entrypoint === named ? "filled" : "light"}
          aria-pressed={entrypoint === named}
          title={summary || undefined}
          onClick={() => job.setValue(ENTRYPOINT, entrypoint)}
        >
          {entrypoint}
        </Button>
      ))}
    </Group>
  )
}

const ENTRYPOINT = ["workload", "entrypoint"] as const
