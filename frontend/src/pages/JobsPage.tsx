import { Button } from "@mantine/core"
import { IconPlus } from "@tabler/icons-react"
import { Link } from "react-router"
import { ConnectionBadge } from "@/components/display/ConnectionBadge"
import { PageTitle } from "@/components/page/PageTitle"
import { useJobsStream } from "@/hooks/jobs/useJobsStream"
import { JobsPanel } from "@/panels/jobs/JobsPanel"

export function JobsPage() {
  const { connection, changes } = useJobsStream()
  return (
    <>
      <PageTitle
        title="Jobs"
        subtitle={<ConnectionBadge connection={connection} />}
        actions={
          <Button component={Link} to="/jobs/new" leftSection={<IconPlus size={16} />} hiddenFrom="sm">
            New job
          </Button>
        }
      />
      <JobsPanel changes={changes} />
    </>
  )
}
