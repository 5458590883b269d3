import { ActionIcon, Button, Group, Menu } from "@mantine/core"
import { IconChartLine, IconCopyPlus, IconDots, IconPlayerStop, IconRoute, IconTrash } from "@tabler/icons-react"
import { useRef, useState, type RefObject } from "react"
import { Link, useNavigate } from "react-router"
import type { Job } from "@/client"
import { ConfirmDialog } from "@/components/buttons/ConfirmDialog"
import { useDeleteJob, useStopJob } from "@/hooks/job/useJob"
import { hasEnded } from "@/lib/status"
import { STEPS } from "@/lib/tour/stops"
import { ContinueItems } from "./ContinueItems"

/** Run again, and a menu with what is done more rarely. */
export function JobActions({ job }: { job: Job }) {
  const ended = hasEnded(job)
  /** An item that was picked before the job ended asks for nothing else afterwards. */
  const [asked, ask] = useState<"stop" | "delete" | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  const dialog = { job, returnTo: button, onClose: () => ask(null) }
  return (
    <Group gap="xs" wrap="nowrap">
      <Button component={Link} to={`/jobs/new?from=${job.id}`} variant="default" size="xs" leftSection={<IconCopyPlus size={14} />}>
        Run again
      </Button>
      <Menu position="bottom-end" withinPortal width={320}>
        <Menu.Target>
          <ActionIcon ref={button} variant="default" size={30} aria-label={`Actions for ${job.name}`}>
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <ContinueItems job={job} />
          <Menu.Item component={Link} to={`/compare?jobs=${job.id}`} leftSection={<IconChartLine size={16} />}>
            Compare with other jobs
          </Menu.Item>
          <Menu.Item component={Link} to={`/jobs/${job.id}?tour=${STEPS[0]!.stop}`} leftSection={<IconRoute size={16} />}>
            Tour of this page
          </Menu.Item>
          {ended ? (
            <Menu.Item leftSection={<IconTrash size={16} />} onClick={() => ask("delete")}>
              Delete
            </Menu.Item>
          ) : (
            <Menu.Item leftSection={<IconPlayerStop size={16} />} disabled={job.status === "stopping"} onClick={() => ask("stop")}>
              Stop
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      <StopDialog {...dialog} opened={asked === "stop" && !ended} />
      <DeleteDialog {...dialog} opened={asked === "delete"} />
    </Group>
  )
}

interface DialogProps {
  job: Job
  opened: boolean
  onClose: () => void
  returnTo: RefObject<HTMLElement | null>
}

function StopDialog({ job, ...dialog }: DialogProps) {
  const stop = useStopJob(job.id)
  return (
    <ConfirmDialog
      {...dialog}
      label="Stop"
      question={`Stop ${job.name}?`}
      consequence="Its workers finish their current step, the servers write a last checkpoint, and the job ends as cancelled."
      onConfirm={() => stop.mutateAsync()}
      pending={stop.isPending}
      error={stop.error}
    />
  )
}

function DeleteDialog({ job, ...dialog }: DialogProps) {
  const remove = useDeleteJob(job.id)
  const navigate = useNavigate()
  return (
    <ConfirmDialog
      {...dialog}
      label="Delete"
      question={`Delete ${job.name}?`}
      consequence="Its model, metrics, logs and files are removed. This cannot be undone."
      onConfirm={() => remove.mutateAsync().then(() => navigate("/jobs"))}
      pending={remove.isPending}
      error={remove.error}
    />
  )
}
