import { Button, Group } from "@mantine/core"
import { IconCopyPlus, IconPlayerStop, IconTrash } from "@tabler/icons-react"
import { Link, useNavigate } from "react-router"
import type { Job } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { useDeleteJob, useStopJob } from "@/hooks/job/useJob"
import { hasEnded } from "@/lib/status"

export function JobActions({ job }: { job: Job }) {
  const stop = useStopJob(job.id)
  const remove = useDeleteJob(job.id)
  const navigate = useNavigate()
  return (
    <Group gap="xs">
      <Button component={Link} to={`/jobs/new?from=${job.id}`} variant="default" size="sm" leftSection={<IconCopyPlus size={16} />}>
        Run again
      </Button>
      {hasEnded(job) ? (
        <ConfirmButton
          label="Delete"
          variant="default"
          size="sm"
          leftSection={<IconTrash size={16} />}
          question={`Delete ${job.name}?`}
          consequence="Its model, metrics, logs and files are removed. This cannot be undone."
          onConfirm={() => remove.mutateAsync().then(() => navigate("/jobs"))}
          pending={remove.isPending}
          error={remove.error}
        />
      ) : (
        <ConfirmButton
          label="Stop"
          variant="default"
          c="var(--gs-bad)"
          size="sm"
          leftSection={<IconPlayerStop size={16} />}
          disabled={job.status === "stopping"}
          question={`Stop ${job.name}?`}
          consequence="Its workers finish their current step, the servers write a last checkpoint, and the job ends as cancelled."
          onConfirm={() => stop.mutateAsync()}
          pending={stop.isPending}
          error={stop.error}
        />
      )}
    </Group>
  )
}
