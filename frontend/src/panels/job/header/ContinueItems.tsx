import { Menu, Text } from "@mantine/core"
import { IconPlayerTrackNext } from "@tabler/icons-react"
import { Link } from "react-router"
import type { Job } from "@/client"
import { useStartPoints } from "@/hooks/job/files/useStartPoints"
import type { StartPoint } from "@/lib/job/startPoints"

/** Items of a menu: a new job that continues from a model of this one. They read the job's files once the menu is open. */
export function ContinueItems({ job }: { job: Job }) {
  return useStartPoints(job).map((point) => <ContinueItem key={point.start} jobId={job.id} point={point} />)
}

/** Keys reach an item without a model too, so that everybody can read why; they pass by those that are `disabled`. */
function ContinueItem({ jobId, point: { title, start, exists, about } }: { jobId: string; point: StartPoint }) {
  const text = (
    <>
      {title}
      <Text size="xs" c="dimmed">
        {about}
      </Text>
    </>
  )
  const icon = <IconPlayerTrackNext size={16} />
  return exists ? (
    <Menu.Item component={Link} to={`/jobs/new?from=${jobId}&start=${start}`} leftSection={icon}>
      {text}
    </Menu.Item>
  ) : (
    <Menu.Item renderRoot={(props) => <button {...props} aria-disabled />} closeMenuOnClick={false} c="dimmed" style={{ cursor: "not-allowed" }} leftSection={icon}>
      {text}
    </Menu.Item>
  )
}
